#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What reel.offload() costs, beside what else keeps PyTorch's saved tensors out of the way.

A chain of cheap operations, and one of dear operations, save tensors of one size. Each way of keeping them is a process
of its own, so that its peak of resident memory is its own. Before each, another process touches as much memory and
ends: memory that the host of a virtual machine has taken back costs several times as much at its first use, and no way
pays that for the next one. "nothing" keeps no tensor (its gradients are wrong): its time is that of the calculation.
"transfer" calculates nothing, and has parcels of the size of the tensors go to the disk and come back. No way is
faster than both; the ratios are to the slower of the two. Usage:

    PYTHONPATH=python REEL_LIBRARY=build/main/.libs/libreel.so.0 python3 bench/offload.py --directory /scratch
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import torch

import reel


def memory(_):
    return contextlib.nullcontext()


def nothing(_):
    shapes = {}

    def unpack(shape):
        if shape not in shapes:
            shapes[shape] = torch.zeros(shape)
        return shapes[shape]

    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.shape, unpack)


def save_on_cpu(_):
    return torch.autograd.graph.save_on_cpu()


def torch_save(options):
    class File:
        def __init__(self, tensor):
            descriptor, self.name = tempfile.mkstemp(dir=options.directory)
            with os.fdopen(descriptor, "wb") as file:
                torch.save(tensor.detach(), file)

        def __del__(self):
            os.unlink(self.name)

    return torch.autograd.graph.saved_tensors_hooks(File, lambda file: torch.load(file.name))


def mapped_file(options):
    file = tempfile.NamedTemporaryFile(dir=options.directory)
    used = 0

    def pack(tensor):
        nonlocal used
        first, used = used, used + tensor.nelement() * tensor.element_size()
        file.truncate(used)
        place = torch.from_file(file.name, shared=True, size=used // 4)[first // 4:]
        return place.copy_(tensor.detach().view(-1)).view(tensor.shape)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)


def offload(options):
    return reel.offload(options.budget, directory=options.directory)


WAYS = {way.__name__: way for way in (nothing, memory, offload, save_on_cpu, torch_save, mapped_file)}
BOUNDS = "nothing", "transfer"


def kilobytes(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def forward(x, options):
    """Each step saves a tensor of the size of x, and costs more with `work`."""
    for _ in range(options.tensors):
        x = torch.tanh(x) if options.work == "tanh" else torch.sin(x) if options.work == "sin" else x * x
    return x


def print_best(seconds, peak, gradient):
    """The seconds of both passes and of each, in the run with the least sum."""
    forth, back = min(seconds, key=sum)
    print(forth, back, peak, gradient)


def transfer(options):
    pool = reel.Pool(options.budget, directory=options.directory)
    seconds = []
    # Frames come back with these bytes. The disk of a virtual machine may store no zeros.
    kept = [pool.keep(bytearray(b"1" * (options.kib << 10))) for _ in range(options.tensors)]
    del kept
    for _ in range(options.repeat):
        begin = time.perf_counter()
        parcels = []
        for _ in range(options.tensors):
            parcels.append(pool.empty(options.kib << 10, "u1"))
            parcels[-1].seal()
        middle = time.perf_counter()
        pool.announce(reversed(parcels))
        while parcels:
            parcels.pop().view()
        seconds.append((middle - begin, time.perf_counter() - middle))
    print_best(seconds, 0, 0.0)


def touch(options):
    """Touches the memory that a way may use."""
    bytearray((options.tensors + 4) * options.kib << 11)


def measure(options):
    """Seconds of the two passes, and the peak of resident memory above what there was before: the best of some runs."""
    torch.set_num_threads(options.threads)
    # Squares of smaller numbers would soon be zeros, which the disk of a virtual machine may not store.
    x = torch.ones(options.kib << 8, requires_grad=True)
    context = WAYS[options.way](options)
    forward(x, argparse.Namespace(tensors=2, work=options.work)).sum().backward()
    before = kilobytes("VmRSS")
    seconds = []
    for _ in range(options.repeat):
        x.grad = None
        begin = time.perf_counter()
        with context:
            y = forward(x, options).sum()
        middle = time.perf_counter()
        y.backward()
        end = time.perf_counter()
        seconds.append((middle - begin, end - middle))
        del y
    print_best(seconds, kilobytes("VmHWM") - before, float(x.grad[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", default="/var/tmp")
    parser.add_argument("--budget", default="512M")
    parser.add_argument("--kib", type=int, default=16384, help="size of a tensor")
    parser.add_argument("--tensors", type=int, default=256)
    parser.add_argument("--work", default="multiply,tanh", help="of multiply, sin and tanh")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        {"transfer": transfer, "touch": touch}.get(options.way, measure)(options)
        return
    print(f"torch {torch.__version__}, {options.tensors} tensors of {options.kib} KiB, budget {options.budget}")
    ways = [way for way in options.ways.split(",") if way not in BOUNDS]
    for work in options.work.split(","):
        print(f"\n{work:12} {'forward':>8} {'backward':>8} {'ratio':>8} {'of both':>8} {'resident':>10} {'gradient':>24}")
        bounds = [0.0, 0.0]
        for way in (*BOUNDS, *ways):
            command = [sys.executable, __file__, *sys.argv[1:], "--work", work, "--way"]
            subprocess.run([*command, "touch"], check=True)
            done = subprocess.run([*command, way], stdout=subprocess.PIPE, text=True)
            if done.returncode:
                print(f"{way:12} failed")
                continue
            forth, back, peak, gradient = map(float, done.stdout.split())
            if way in BOUNDS:
                bounds = [max(bounds[0], forth), max(bounds[1], back)]
            print(f"{way:12} {forth:8.2f} {back:8.2f} {forth / bounds[0]:8.2f} {(forth + back) / sum(bounds):8.2f} "
                  f"{peak / 1024:6.0f} MiB {gradient!r:>24}", flush=True)


if __name__ == "__main__":
    main()
