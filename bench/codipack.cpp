/* SPDX-License-Identifier: MIT */
/*
 * Compares CoDiPack's tapes on its own streams with the same tapes on Reel's streams, in turns in
 * one process: the times of recording and of evaluating, in nanoseconds a byte of tape. The program
 * advances Burgers' equation.
 *
 *	g++ -std=c++17 -O3 -march=native -I CODIPACK/include -o codipack codipack.cpp \
 *		$(pkg-config --cflags --libs reel)
 *	codipack TYPE MIB TURNS     TYPE: jacobian, jacobian-reuse, primal, primal-reuse
 *
 * Tapes on Reel's streams are in the default pool, so REEL_BUDGET and REEL_SPILL_DIR make them
 * spill. Tapes on CoDiPack's own streams stay in memory.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <reel/codipack.hpp>

namespace {

constexpr int cells = 1000;

template <template <class, class> class Data>
using jacobian = codi::ActiveType<codi::JacobianLinearTape<
	codi::JacobianTapeTypes<double, double, codi::LinearIndexManager<int>, Data>>>;
template <template <class, class> class Data>
using jacobian_reuse = codi::ActiveType<codi::JacobianReuseTape<
	codi::JacobianTapeTypes<double, double, codi::MultiUseIndexManager<int>, Data>>>;
template <template <class, class> class Data>
using primal = codi::ActiveType<codi::PrimalValueLinearTape<
	codi::PrimalValueTapeTypes<double, double, codi::LinearIndexManager<int>,
				   codi::InnerStatementEvaluator, Data>>>;
template <template <class, class> class Data>
using primal_reuse = codi::ActiveType<codi::PrimalValueReuseTape<
	codi::PrimalValueTapeTypes<double, double, codi::MultiUseIndexManager<int>,
				   codi::InnerStatementEvaluator, Data>>>;

double now()
{
	using clock = std::chrono::steady_clock;

	return std::chrono::duration<double, std::nano>(clock::now().time_since_epoch()).count();
}

struct turn {
	double bytes;            /* size of the tape, the adjoint vector included */
	double record, evaluate; /* ns */
	double gradient;
};

template <class Real> turn take_turn(int steps)
{
	auto &tape = Real::getTape();
	std::vector<Real> u(cells), next(cells);
	Real speed = 0.01, sum = 0;
	turn taken;
	double begin = now(), recorded;

	tape.setActive();
	tape.registerInput(speed);
	for (int i = 0; i < cells; i++) {
		u[i] = 1 + 0.001 * i;
		tape.registerInput(u[i]);
	}
	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < cells; i++) {
			const Real &left = u[i ? i - 1 : cells - 1], &right = u[(i + 1) % cells];

			next[i] = u[i] - speed * u[i] * (right - left) +
				  0.01 * (right - 2 * u[i] + left);
		}
		std::swap(u, next);
	}
	for (const Real &each : u)
		sum += each * each;
	tape.registerOutput(sum);
	tape.setPassive();
	recorded = now();
	sum.setGradient(1);
	tape.evaluate();
	taken.evaluate = now() - recorded;
	taken.record = recorded - begin;
	taken.bytes = tape.getTapeValues().getUsedMemorySize();
	taken.gradient = speed.getGradient();
	tape.reset();
	return taken;
}

double median(std::vector<double> of)
{
	std::sort(of.begin(), of.end());
	return of[of.size() / 2];
}

/* Returns half of the distance between the quartiles, over the median, in percent. */
double noise(std::vector<double> of)
{
	std::sort(of.begin(), of.end());
	return 50 * (of[of.size() * 3 / 4] - of[of.size() / 4]) / of[of.size() / 2];
}

void compare(const char *what, const std::vector<double> &own, const std::vector<double> &reel)
{
	std::printf("%-9s CoDiPack %.3f ns a byte (+- %.0f %%), Reel %.3f (+- %.0f %%), Reel over "
		    "CoDiPack %.2f\n",
		    what, median(own), noise(own), median(reel), noise(reel),
		    median(reel) / median(own));
}

/* Times with one kind of streams, in ns a byte. */
struct times {
	std::vector<double> record, evaluate, both;

	void add(const turn &taken)
	{
		record.push_back(taken.record / taken.bytes);
		evaluate.push_back(taken.evaluate / taken.bytes);
		both.push_back((taken.record + taken.evaluate) / taken.bytes);
	}
};

template <template <template <class, class> class> class Type> int measure(double mib, int turns)
{
	using own = Type<codi::DefaultChunkedData>;
	using reel = Type<reel::codipack::data>;
	const int few = 100;
	const int steps = static_cast<int>(few * mib * 1048576 / take_turn<own>(few).bytes);
	/* The first turn of each kind takes its memory from the system. */
	const turn own_first = take_turn<own>(steps), reel_first = take_turn<reel>(steps);
	times of_own, of_reel;

	if (own_first.gradient != reel_first.gradient) {
		std::fprintf(stderr, "the gradients differ: %.17g and %.17g\n", own_first.gradient,
			     reel_first.gradient);
		return 1;
	}
	for (int t = 0; t < turns; t++) {
		of_own.add(take_turn<own>(steps));
		of_reel.add(take_turn<reel>(steps));
	}
	std::printf("%.0f MiB of tape; cold %.3f and %.3f ns a byte\n", own_first.bytes / 1048576,
		    (own_first.record + own_first.evaluate) / own_first.bytes,
		    (reel_first.record + reel_first.evaluate) / reel_first.bytes);
	compare("record", of_own.record, of_reel.record);
	compare("evaluate", of_own.evaluate, of_reel.evaluate);
	compare("both", of_own.both, of_reel.both);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	const std::string type = argc > 1 ? argv[1] : "";
	const double mib = argc > 2 ? std::atof(argv[2]) : 0;
	const int turns = argc > 3 ? std::atoi(argv[3]) : 0;

	if (mib > 0 && turns > 0) {
		if (type == "jacobian")
			return measure<jacobian>(mib, turns);
		if (type == "jacobian-reuse")
			return measure<jacobian_reuse>(mib, turns);
		if (type == "primal")
			return measure<primal>(mib, turns);
		if (type == "primal-reuse")
			return measure<primal_reuse>(mib, turns);
	}
	std::fprintf(stderr,
		     "usage: codipack jacobian|jacobian-reuse|primal|primal-reuse MIB TURNS\n");
	return 2;
}
