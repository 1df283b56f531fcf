#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to keep the tensors that a model on a GPU saves in other memory than the GPU's.

A perceptron saves tensors of one size, a transformer tensors of many sizes. Each way of keeping them is a process of
its own, so that its peak of resident memory is its own (PyTorch's pinned memory is not part of it). Its first runs are
not counted: in them memory is mapped and pinned for the first time. The times are medians, and each pass ends when the
device has done all of its work. "copies" calculates nothing: as many bytes as the perceptron saves go from the device
to pinned memory, and come back. No way is faster than the slower one of "device" and "copies" in each pass; the ratios
are to both. "busiest thread" is the share of a run in which one thread of the host used a processor: about 1 if a
thread does not sleep while it waits. The waits of this program itself are not counted.

The gradients of each way have to be those of "device", to the bit. If they are not, the exit status is 1. Usage:

    PYTHONPATH=python REEL_LIBRARY=build/main/.libs/libreel.so.0 python3 bench/perceptron.py --directory /scratch
"""

import argparse
import contextlib
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import torch

import reel
from offload import kilobytes

TARGETS = {("perceptron", "memory", "both"): 0.15, ("perceptron", "memory", "busiest"): 0.9,
           ("perceptron", "disk", "busiest"): 0.9, ("transformer", "memory", "busiest"): 0.9}
"""The maxima for a GPU, for models of the default size."""


# ---- Models ----

def perceptron(options):
    layers = []
    for _ in range(options.layers):
        layers += [torch.nn.Linear(options.width, options.width), torch.nn.Tanh()]
        torch.nn.init.xavier_normal_(layers[-2].weight, 5 / 3)  # or else numbers are smaller with each layer
    return torch.nn.Sequential(*layers), torch.randn((options.mib << 18) // options.width, options.width)


def transformer(options):
    """Saves two thirds of the bytes of the perceptron, in tensors of 16 KiB to 32 MiB and of several types."""
    width = 2 * options.width
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, (options.layers + 7) // 8, enable_nested_tensor=False)
    tokens = (options.mib << 16) // width
    return model, torch.randn(-(-tokens // 256), min(tokens, 256), width)


MODELS = {model.__name__: model for model in (perceptron, transformer)}


# ---- Ways ----

def device(_):
    return contextlib.nullcontext()


def memory(options):
    return reel.offload(max(options.layers * options.mib * 8 // 3, 64) << 20)


def disk(options):
    return reel.offload(max(options.layers * options.mib // 6, 8) << 20, directory=options.directory)


def pinned(_):
    return torch.autograd.graph.save_on_cpu(pin_memory=True)


def pageable(_):
    return torch.autograd.graph.save_on_cpu()


WAYS = {way.__name__: way for way in (device, memory, pinned, disk, pageable)}
WORDS = {
    "device": "on the device",
    "copies": "copies, and nothing else",
    "memory": "`reel.offload()`, in memory",
    "disk": "`reel.offload()`, a sixth in memory, the rest on a disk",
    "pinned": "`save_on_cpu(pin_memory=True)`",
    "pageable": "`save_on_cpu()`",
}


# ---- Measuring: a process for each way ----

class Clock:
    """The time of a run, and the processor time of each thread meanwhile, without the waits of the clock itself."""

    def __init__(self, options):
        self.synchronize = torch.cuda.synchronize if options.device == "cuda" else lambda: None
        self.begin()

    def begin(self):
        self.synchronize()
        self.waited, self.used, self.times = 0.0, self.thread_seconds(), [time.perf_counter()]

    def end_pass(self):
        """The seconds of the pass."""
        used = time.thread_time()
        self.synchronize()
        self.waited += time.thread_time() - used
        self.times.append(time.perf_counter())
        return self.times[-1] - self.times[-2]

    def busiest(self):
        """The share of the run in which the busiest thread used a processor."""
        used = {thread: seconds - self.used.get(thread, 0.0) for thread, seconds in self.thread_seconds().items()}
        used[os.getpid()] -= self.waited
        return max(used.values()) / (self.times[-1] - self.times[0])

    @staticmethod
    def thread_seconds():
        seconds = {}
        for thread in map(int, os.listdir("/proc/self/task")):
            with contextlib.suppress(OSError):  # the thread has ended
                seconds[thread] = time.clock_gettime(~thread << 3 | 6)  # CPUCLOCK_SCHED of a thread, as in pthreads
        return seconds


def measure(options):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)  # of attention, too
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False
    model, x = MODELS[options.model](options)
    model, x = model.to(options.device), x.to(options.device)
    context, clock = WAYS[options.way](options), Clock(options)
    precision = torch.autocast(options.device, torch.bfloat16, enabled=options.model == "transformer")
    before, runs, gradients = kilobytes("VmRSS"), [], set()
    for run in range(-options.warm, options.repeat):
        if run == 0 and options.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        model.zero_grad(set_to_none=True)
        torch.manual_seed(2)  # of dropout
        clock.begin()
        with context, precision:
            loss = model(x).square().mean()
        forward = clock.end_pass()
        loss.backward()
        backward = clock.end_pass()
        if run >= 0:
            runs.append((forward, backward, forward + backward, clock.busiest()))
        content = hashlib.sha256()
        for parameter in model.parameters():
            content.update(parameter.grad.cpu().numpy().tobytes())
        gradients.add(content.hexdigest())
        del loss
    medians = dict(zip(("forward", "backward", "both", "busiest"), map(statistics.median, zip(*runs))))
    return {**medians, "resident": kilobytes("VmHWM") - before >> 10, "gradients": sorted(gradients),
            "device": torch.cuda.max_memory_allocated() >> 20 if options.device == "cuda" else None}


def copies(options):
    """Copies the bytes of the perceptron: all to the host, then all back, then both at once. A stream for each way."""
    on_gpu, size = options.device == "cuda", options.mib << 20
    host = [torch.empty(size, dtype=torch.uint8, pin_memory=on_gpu).fill_(1) for _ in range(options.layers)]
    source, target = (torch.ones(size, dtype=torch.uint8, device=options.device) for _ in range(2))
    streams = [torch.cuda.stream(torch.cuda.Stream()) if on_gpu else contextlib.nullcontext() for _ in range(2)]
    clock, runs = Clock(options), []

    def out():
        with streams[0]:
            for memory in host:
                memory.copy_(source, non_blocking=True)

    def back():
        with streams[1]:
            for memory in reversed(host):
                target.copy_(memory, non_blocking=True)

    for run in range(-options.warm, options.repeat):
        clock.begin()
        out()
        forward = clock.end_pass()
        back()
        backward = clock.end_pass()
        out()
        back()
        at_once = clock.end_pass()
        if run >= 0:
            runs.append((forward, backward, forward + backward, at_once))
    return dict(zip(("forward", "backward", "both", "at_once"), map(statistics.median, zip(*runs))))


# ---- The table ----

def row(name, figures, bound, verdicts=()):
    def cell(key, form):
        return format(figures[key], form) if figures.get(key) is not None else ""

    ratio = f"{figures['both'] / bound:.2f}" if bound else ""
    print(f"| {name} | {cell('forward', '.3f')} | {cell('backward', '.3f')} | {cell('both', '.3f')} | {ratio} | "
          f"{cell('device', 'd')} | {cell('resident', 'd')} | {cell('busiest', '.2f')} | {'; '.join(verdicts)} |",
          flush=True)


def compare(model, ways, options):
    """Prints the table of a model. Returns the faults."""
    command = [sys.executable, __file__, *sys.argv[1:], "--model", model, "--way"]
    # cuBLAS has the same results in each run only with a workspace of a fixed size.
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    size = f"{options.layers} layers of {options.mib} MiB" if model == "perceptron" else "bfloat16"
    print(f"| {model}, {size}, {options.device}, torch {torch.__version__} | forward, s | backward, s | both, s | "
          "over the bound | device, MiB | resident, MiB | busiest thread | target |\n" +
          "| --- " + "| ---: " * 7 + "| --- |")
    slowest, wanted, faults = [0.0, 0.0], None, []
    for way in ways:
        done = subprocess.run([*command, way], stdout=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            faults.append(f"{model}: {way}: failed with status {done.returncode}")
            continue
        figures = json.loads(done.stdout)
        if way in ("device", "copies"):
            slowest = [max(slowest[0], figures["forward"]), max(slowest[1], figures["backward"])]
        verdicts = [f"{key} at most {most}: {'met' if figures[key] <= most else 'missed'}"
                    for (of, what, key), most in TARGETS.items() if (of, what) == (model, way) and options.has_targets]
        if way != "copies":
            if len(figures["gradients"]) != 1:
                faults.append(f"{model}: {way}: GRADIENTS THAT DIFFER FROM RUN TO RUN")
            elif wanted is not None and figures["gradients"] != wanted:
                faults.append(f"{model}: {way}: WRONG GRADIENTS, which are not those on the device")
            wanted = wanted or figures["gradients"]
        row(WORDS[way], figures, sum(slowest), verdicts)
        if way == "copies":
            row("copies, both ways at once", {"both": figures["at_once"]}, 0.0)
    print()
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--directory", default="/var/tmp")
    parser.add_argument("--layers", type=int, default=48, help="of the perceptron")
    parser.add_argument("--mib", type=int, default=64, help="size of the tensor that a layer of the perceptron saves")
    parser.add_argument("--width", type=int, default=512, help="of a layer: its matrix has this size squared")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--ways", default=",".join(("copies", *WAYS)))
    parser.add_argument("--warm", type=int, default=2, help="runs that are not counted")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(copies(options) if options.way == "copies" else measure(options)))
        return
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here")
    options.has_targets = options.device == "cuda" and (options.layers, options.mib, options.width) == (48, 64, 512)
    faults = []
    for model in options.models.split(","):
        # The bytes that a transformer saves are not known, and its other ways take long enough.
        ways = [way for way in options.ways.split(",") if model == "perceptron" or way not in ("copies", "pageable")]
        faults += compare(model, ways, options)
    for fault in faults:
        print(f"FAULT: {fault}", flush=True)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
