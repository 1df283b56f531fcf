/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for CoDiPack's headers, for tests where CoDiPack is not installed. It has the same
 * names with the same meaning, as far as reel/codipack.hpp and its test use them.
 */
#ifndef REEL_TESTS_CODI_HPP
#define REEL_TESTS_CODI_HPP

#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace codi {

class FileIo {
public:
	FileIo(const std::string &name, bool write)
		: file(std::fopen(name.c_str(), write ? "wb" : "rb"))
	{
		if (!file)
			throw std::runtime_error("no file " + name);
	}
	FileIo(const FileIo &) = delete;
	FileIo &operator=(const FileIo &) = delete;
	~FileIo() { std::fclose(file); }

	template <class T> void writeData(const T *from, std::size_t n)
	{
		if (std::fwrite(from, sizeof(T), n, file) != n)
			throw std::runtime_error("a write failed");
	}
	template <class T> void readData(T *to, std::size_t n)
	{
		if (std::fread(to, sizeof(T), n, file) != n)
			throw std::runtime_error("a read failed");
	}

private:
	std::FILE *file;
};

class ChunkBase {
public:
	explicit ChunkBase(std::size_t items) : size(items) {}
	virtual ~ChunkBase() = default;

	virtual void erase(const std::size_t &start, const std::size_t &end) = 0;
	virtual void allocateData() = 0;
	virtual void deleteData() = 0;
	virtual void readData(FileIo &file) = 0;
	virtual void writeData(FileIo &file) const = 0;

	std::size_t getSize() const { return size; }
	std::size_t getUsedSize() const { return usedSize; }
	void setUsedSize(const std::size_t &items) { usedSize = items; }

protected:
	std::size_t size;
	std::size_t usedSize = 0;
};

/* Their parameters are all that a Data takes of them. */
template <class A> struct Chunk1 {};
template <class A, class B> struct Chunk2 {};
template <class A, class B, class C> struct Chunk3 {};
template <class A, class B, class C, class D> struct Chunk4 {};

template <class Chunk, class Nested> struct ChunkedData {};

template <class Inner> struct ChunkPosition {
	std::size_t chunk = 0, data = 0;
	Inner inner = Inner();

	ChunkPosition() = default;
	ChunkPosition(std::size_t c, std::size_t d, const Inner &i) : chunk(c), data(d), inner(i) {}

	auto key() const { return std::tie(chunk, data, inner); }
	bool operator==(const ChunkPosition &other) const { return key() == other.key(); }
	bool operator<(const ChunkPosition &other) const { return key() < other.key(); }
};

struct TapeValues {
	enum class LocalReductionOperation { Sum, Max };

	std::map<std::string, double> entries;

	void addUnsignedLongEntry(const std::string &name, const unsigned long &value)
	{
		entries[name] = static_cast<double>(value);
	}
	void addDoubleEntry(const std::string &name, const double &value, LocalReductionOperation,
			    bool, bool)
	{
		entries[name] = value;
	}
};

} // namespace codi

#endif
