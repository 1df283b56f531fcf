#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a budget for a transformer costs: reel.checkpoint(), beside running all blocks again, and offloading all.

The ways take turns in one process, a step each, for some rounds. A row has the median time of a step, as a ratio to that
in memory; and the peak of memory above the idle model with its gradients, of which the budgets are shares: what torch's
allocator has given out, and the frames of the pool. Usage:

    PYTHONPATH=python REEL_LIBRARY=build/main/.libs/libreel.so.0 python3 bench/checkpoint.py --directory /scratch
"""

import argparse
import functools
import itertools
import statistics
import time

import torch
from torch.utils.checkpoint import checkpoint

import reel


def model_of(options):
    torch.manual_seed(1)
    return torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(
        options.width, 8, 4 * options.width, batch_first=True, norm_first=True), options.blocks,
        enable_nested_tensor=False)


def step(model, x):
    model.zero_grad(set_to_none=False)
    torch.manual_seed(2)
    began = time.perf_counter()
    model(x).square().mean().backward()
    return time.perf_counter() - began


def peak_of(model, x):
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        step(model, x)
    memory = sorted((event.start_ns(), event.nbytes()) for event in profile.kineto_results.events()
                    if event.name() == "[memory]")
    return max(itertools.accumulate(nbytes for _, nbytes in memory))


def again(model):
    for block in model.layers:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", default="/var/tmp")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shares", default="0.5,0.25")
    options = parser.parse_args()
    x = torch.randn(options.tokens // 128, 128, options.width)
    ways, pools, texts = {"in memory": model_of(options)}, {}, {}
    for _ in range(2):
        step(ways["in memory"], x)
    whole = peak_of(ways["in memory"], x)
    ways["all run again"] = model_of(options)
    again(ways["all run again"])
    for share in map(float, options.shares.split(",")):
        for directory in (None, options.directory):
            name = f"checkpoint() {share:.0%}{', disk' if directory else ''}"
            model, budget = model_of(options), int(share * whole)
            chosen = reel.checkpoint(model, budget, directory=directory)
            try:
                step(model, x)
            except MemoryError:
                continue
            ways[name], pools[name], texts[name] = model, chosen._offload and chosen._offload.pool, str(chosen)
        name = f"offload() {share:.0%}, disk"
        offload = reel.offload(int(share * whole), directory=options.directory)
        ways[name], pools[name] = offload.attach(model_of(options)), offload.pool
    seconds = {name: [] for name in ways}
    for turn in range(options.rounds + 1):
        for name, model in ways.items():
            taken = step(model, x)
            if turn:  # the first round has fresh memory
                seconds[name].append(taken)
    print(f"torch {torch.__version__}, {options.blocks} blocks of width {options.width}, {options.tokens} tokens, "
          f"{whole >> 20} MiB")
    alone = statistics.median(seconds["in memory"])
    for name, model in ways.items():
        peak = peak_of(model, x) + (pools[name].stats()["peak_resident_bytes"] if pools.get(name) else 0)
        print(f"{name:28} {statistics.median(seconds[name]) / alone:6.2f} {peak / whole:6.0%}  {texts.get(name, '')}",
              flush=True)


if __name__ == "__main__":
    main()
