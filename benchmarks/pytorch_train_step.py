#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a training step of PyTorch on the processor: the other side of `<model> benchmark`.

A GPT-2 of the same shape, written as PyTorch users write it (scaled_dot_product_attention, AdamW,
clipping by the global norm), on random tokens. The last line is one JSON object with the fields of
`<model> benchmark --json`; planned_bytes is null, because PyTorch plans none.

--tuned looks for the best that PyTorch gives on this machine: it starts itself again with
OMP_WAIT_POLICY=passive, with glibc's thresholds raised so that freed memory is kept
(MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_, MALLOC_TOP_PAD_), then tries each variant of AdamW
(single loop, foreach, fused) and keeps the fastest. Without it: PyTorch's defaults.

Usage: python3 benchmarks/pytorch_train_step.py --model gpt2-124m|shakespeare-char --dtype fp32|bf16
         --batch-size B --seq-len T --steps N [--compile] [--tuned] [--threads N]
Needs: torch (2.0 or later) and nothing else.
"""

import argparse
import json
import math
import os
import resource
import statistics
import sys
import time

MODELS = {
    # name: (layers, width, heads, vocabulary, positions, biases, exact GELU)
    "gpt2-124m": (12, 768, 12, 50257, 1024, True, False),
    "shakespeare-char": (4, 128, 4, 65, 64, False, True),
}

TUNED_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",
    "MALLOC_MMAP_THRESHOLD_": "17179869184",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "67108864",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="gpt2-124m")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5, help="timed steps, after two that are not")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as PyTorch takes")
    parser.add_argument("--compile", action="store_true", help="run through torch.compile")
    parser.add_argument("--tuned", action="store_true", help="the best settings instead of the defaults")
    return parser.parse_args()


def build_model(torch, name):
    nn, functional = torch.nn, torch.nn.functional
    layers, width, heads, vocabulary, positions, biases, exact = MODELS[name]

    def layer_norm():
        return nn.LayerNorm(width, bias=biases)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query_key_value = nn.Linear(width, 3 * width, bias=biases)
            self.project = nn.Linear(width, width, bias=biases)

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.query_key_value(x).view(batch, length, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.project(y.transpose(1, 2).reshape(batch, length, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.attention, self.norm2 = layer_norm(), Attention(), layer_norm()
            self.up = nn.Linear(width, 4 * width, bias=biases)
            self.activation = nn.GELU(approximate="none" if exact else "tanh")
            self.down = nn.Linear(4 * width, width, bias=biases)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.down(self.activation(self.up(self.norm2(x))))

    class Gpt2(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(positions, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = layer_norm()
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.tokens.weight
            for parameter in self.parameters():
                if parameter.dim() == 2:
                    nn.init.normal_(parameter, std=0.02)

        def forward(self, ids, labels):
            x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.view(-1, vocabulary).float(), labels.reshape(-1))

    return Gpt2()


def make_optimizer(torch, model, variant):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}]
    if vectors:
        groups.append({"params": vectors, "weight_decay": 0.0})
    how = {"default": {}, "loop": {"foreach": False}, "foreach": {"foreach": True},
           "fused": {"fused": True}}[variant]
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), **how)


def time_steps(torch, arguments, variant, steps):
    """Seconds of each timed step, and the model."""
    layers, width, heads, vocabulary, positions, biases, exact = MODELS[arguments.model]
    torch.manual_seed(1)
    model = build_model(torch, arguments.model)
    optimizer = make_optimizer(torch, model, variant)
    run = torch.compile(model) if arguments.compile else model
    ids = torch.randint(vocabulary, (arguments.batch_size, arguments.seq_len + 1))
    seconds = []
    for step in range(steps + 2):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.dtype == "bf16"):
            loss = run(ids[:, :-1], ids[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        if step >= 2:
            seconds.append(time.perf_counter() - start)
    return seconds, model


def measure_peak(torch, dtype):
    """The best rate of one large product: what a share of peak is a share of, for PyTorch."""
    size = 2048
    a = torch.randn(size, size).to(dtype)
    b = torch.randn(size, size).to(dtype)
    best = math.inf
    for _ in range(6):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def main():
    arguments = parse_arguments()
    layers, width, heads, vocabulary, positions, biases, exact = MODELS[arguments.model]
    if not 1 <= arguments.seq_len <= positions or arguments.batch_size < 1 or arguments.steps < 1:
        sys.exit(f"--seq-len must be 1 to {positions}, --batch-size and --steps at least 1")
    if arguments.tuned and any(os.environ.get(k) != v for k, v in TUNED_ENVIRONMENT.items()):
        os.environ.update(TUNED_ENVIRONMENT)
        os.execv(sys.executable, [sys.executable, *sys.argv])

    import torch

    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)

    variant = "default"
    if arguments.tuned:
        best = math.inf
        for candidate in ("loop", "foreach", "fused"):
            seconds, _ = time_steps(torch, arguments, candidate, 2)
            print(f"AdamW {candidate}: {1e3 * min(seconds):.1f} ms", file=sys.stderr)
            if min(seconds) < best:
                best, variant = min(seconds), candidate

    seconds, model = time_steps(torch, arguments, variant, arguments.steps)
    step = statistics.median(seconds)
    tokens = arguments.batch_size * arguments.seq_len
    parameters = sum(p.numel() for p in model.parameters())
    in_matrices = sum(p.numel() for n, p in model.named_parameters()
                      if p.dim() == 2 and not n.startswith("positions"))
    flops = 6 * in_matrices + 12 * layers * width * arguments.seq_len
    peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peak = measure_peak(torch, torch.bfloat16 if arguments.dtype == "bf16" else torch.float32)
    how = ("compile" if arguments.compile else "eager") + (", tuned" if arguments.tuned else ", defaults")
    print(json.dumps({
        "model": arguments.model,
        "framework": f"PyTorch {torch.__version__}, {how}, AdamW {variant}",
        "parameters": parameters,
        "precision": arguments.dtype,
        "threads": torch.get_num_threads(),
        "batch_size": arguments.batch_size,
        "seq_len": arguments.seq_len,
        "step_ms": round(1e3 * step, 3),
        "tokens_per_second": round(tokens / step, 1),
        "flops_per_token": flops,
        "peak_flops": round(peak),
        "share_of_peak": round(flops * tokens / step / peak, 4),
        "peak_rss_bytes": peak_rss,
        "planned_bytes": None,
    }))


if __name__ == "__main__":
    main()
