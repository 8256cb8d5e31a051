#!/usr/bin/env python3
"""Make reference fixtures with Hugging Face `transformers`.

For a handful of tiny, randomly initialised models this script runs the
`transformers` implementation on the CPU in float64 and stores, in one
safetensors file per model: the inputs, the labels, the weights, the logits,
the loss and the gradient of the loss with respect to every weight. The C++
code is then checked against an implementation that shares nothing with it.

"In float64" needs care, because `transformers` casts to float32 on purpose in
several places (RMSNorm, the rotary angles, the softmax of the Llama attention,
the final logits). Two interpreter-level modes deal with all of them at once:

  * `DoubleForFloat` rewrites every request for a float32 result into a request
    for a float64 one, whichever call it was made through;
  * `NoLowPrecision` then looks at the result of every single tensor operation,
    forward and backward, and fails if a lower precision slipped through.

The results are verified before they are written:

  * against the same model without those two modes (must agree to float32
    rounding: the modes change the precision and nothing else);
  * by finite differences, on elements of every parameter tensor and along
    random directions over all parameters together;
  * the tensor names against those `save_pretrained` writes for the model.

See README.md, beside this file, for the layout of the files.
"""

import argparse
import json
import platform
import tempfile
from pathlib import Path

import numpy as np
import safetensors
import torch
import transformers
from safetensors.torch import load_file
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

IGNORE = -100  # label of a position that does not enter the loss
VOCAB = 29
BATCH, TIME = 2, 7
STD = 0.2  # of all weights and biases, and of norm weights around 1

# A relative error is taken against max(|gradient|, FD_FLOOR). The floor is for
# gradients that vanish in theory (a key bias without rotary positions shifts
# all the scores of a softmax alike), where only rounding is left.
FD_FLOOR = 1e-3
FD_STEP = 1e-4
FD_LIMIT = 1e-6
PLAIN_LIMIT = 1e-5


# ------------------------------------------------------------- double precision


class DoubleForFloat(TorchFunctionMode):
    """Turns `.float()`, `.to(torch.float32)`, `dtype=torch.float32`, ... into
    their float64 counterparts."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if value is torch.float32 else value

        if func is torch.Tensor.float:
            func = torch.Tensor.double
        return func(*tree_map(widen, args), **tree_map(widen, kwargs or {}))


class NoLowPrecision(TorchDispatchMode):
    """Fails as soon as any operation returns a floating-point tensor that is
    not float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_flatten(result)[0]:
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                if leaf.dtype != torch.float64:
                    raise RuntimeError(f"{func} returned {leaf.dtype}")
        return result


def prove_guard_works():
    """The whole point of the modes is that they notice; see that they do."""
    x = torch.ones(3)
    with DoubleForFloat(), NoLowPrecision():
        assert x.to(torch.float32).dtype == torch.float64
        assert x.float().dtype == torch.float64
        assert torch.softmax(x, -1, dtype=torch.float32).dtype == torch.float64
    try:
        with NoLowPrecision():
            x.float()
    except RuntimeError:
        return
    raise RuntimeError("the guard against low precision does not work")


# ----------------------------------------------------------------------- models


def model_table():
    """name -> (model class, configuration). The order fixes the random seeds."""
    gpt2 = dict(
        vocab_size=VOCAB, n_positions=16, n_layer=2,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=0, eos_token_id=0,
    )
    llama = dict(
        vocab_size=VOCAB, intermediate_size=20, num_hidden_layers=2,
        max_position_embeddings=16, rms_norm_eps=1e-5, attention_dropout=0.0,
    )
    return {
        # tied embeddings, tanh-approximated GELU, feed-forward of 4 * n_embd
        "gpt2": (
            transformers.GPT2LMHeadModel,
            transformers.GPT2Config(
                n_embd=12, n_head=3, n_inner=None,
                activation_function="gelu_new", **gpt2),
        ),
        # separate output matrix, erf GELU, an odd feed-forward width
        "gpt2_untied_gelu": (
            transformers.GPT2LMHeadModel,
            transformers.GPT2Config(
                n_embd=8, n_head=2, n_inner=20,
                activation_function="gelu", tie_word_embeddings=False, **gpt2),
        ),
        # ReLU, separate q/k/v projections, position table offset by two rows
        "opt": (
            transformers.OPTForCausalLM,
            transformers.OPTConfig(
                vocab_size=VOCAB, hidden_size=12, ffn_dim=24,
                num_hidden_layers=2, num_attention_heads=3,
                max_position_embeddings=16, activation_function="relu",
                do_layer_norm_before=True, word_embed_proj_dim=12,
                tie_word_embeddings=True,
                dropout=0.0, attention_dropout=0.0, layerdrop=0.0),
        ),
        # grouped-query attention (6 query heads on 2 key/value heads), no biases
        "llama": (
            transformers.LlamaForCausalLM,
            transformers.LlamaConfig(
                hidden_size=24, num_attention_heads=6, num_key_value_heads=2,
                rope_theta=10000.0, tie_word_embeddings=False,
                attention_bias=False, mlp_bias=False, **llama),
        ),
        # multi-query attention (4 on 1), biases everywhere, another rope base
        "llama_tied": (
            transformers.LlamaForCausalLM,
            transformers.LlamaConfig(
                hidden_size=16, num_attention_heads=4, num_key_value_heads=1,
                rope_theta=500000.0, tie_word_embeddings=True,
                attention_bias=True, mlp_bias=True, **llama),
        ),
        # bidirectional, post-norm, padding, masked-language-model head
        "bert": (
            transformers.BertForMaskedLM,
            transformers.BertConfig(
                vocab_size=VOCAB, hidden_size=12, num_hidden_layers=2,
                num_attention_heads=3, intermediate_size=24,
                max_position_embeddings=16, type_vocab_size=2,
                hidden_act="gelu", layer_norm_eps=1e-12,
                hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0),
        ),
    }


def build(cls, config):
    """The model, in float64, for evaluation."""
    config._attn_implementation = "eager"
    model = cls(config).double().eval()
    for module in model.modules():
        # An nn.Embedding with a padding index drops the gradient of that row.
        # We want the gradient of the loss, not a training convenience.
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return model


def randomise(model, rng):
    """Random weights everywhere, so that no bias or norm weight is trivial."""
    norm_weights = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, torch.nn.LayerNorm)
        or type(module).__name__.endswith("RMSNorm")
    }
    with torch.no_grad():
        for param in model.parameters():
            value = STD * rng.standard_normal(tuple(param.shape))
            if id(param) in norm_weights:
                value = value + 1.0
            param.copy_(torch.from_numpy(value))


# ------------------------------------------------------------------------- data


def causal_data(rng):
    """Rows of random tokens; a label is the token that follows."""
    text = torch.from_numpy(rng.integers(0, VOCAB, size=(BATCH, TIME + 1)))
    # The ids that OPT, BERT and others call padding are ordinary here.
    text[0, 2], text[1, 4] = 1, 0
    labels = text[:, 1:].clone()
    for row, position in ((0, 0), (0, 4), (1, 2), (1, 6)):
        labels[row, position] = IGNORE
    return text[:, :-1].clone(), labels, None


def bert_data(rng):
    """Masked-language-model rows; the second ends in two padding positions."""
    pad, mask = 0, 3
    ids = torch.from_numpy(rng.integers(4, VOCAB, size=(BATCH, TIME)))
    documents = torch.zeros((BATCH, TIME), dtype=torch.int64)
    documents[1, 5:] = -1
    labels = torch.full_like(ids, IGNORE)
    replacement = {
        (0, 1): mask, (0, 4): mask, (0, 6): 9,  # 9: "a random other token"
        (1, 0): mask, (1, 3): mask, (1, 4): None,  # None: token left as it is
    }
    for where, token in replacement.items():
        labels[where] = ids[where]
        if token is not None:
            ids[where] = token
    ids[documents < 0] = pad
    return ids, labels, documents


# ----------------------------------------------------------------- one fixture


def forward(model, ids, labels, documents):
    """Logits, and the mean cross entropy over the labels that count."""
    inputs = {"input_ids": ids}
    if documents is not None:
        inputs["attention_mask"] = (documents >= 0).long()
    logits = model(**inputs).logits
    chosen = labels != IGNORE
    log_probs = torch.log_softmax(logits[chosen], dim=-1)
    loss = -log_probs.gather(1, labels[chosen][:, None]).mean()
    return logits, loss


def check_plain(cls, config, model, data, logits):
    """Largest difference to the model as it comes, float32 casts and all."""
    plain = build(cls, config)
    with torch.no_grad():
        for own, other in zip(plain.parameters(), model.parameters()):
            own.copy_(other)
        difference = (forward(plain, *data)[0] - logits).abs().max().item()
    if difference > PLAIN_LIMIT:
        raise RuntimeError(f"differs from the plain model by {difference:.1e}")
    return difference


def check_gradients(params, grads, loss_of, rng):
    """Finite differences. Returns the largest relative errors: of single
    elements, of directions over all the parameters."""

    def slope(move):
        # fourth-order central difference: error O(FD_STEP ** 4)
        values = []
        for steps in (1, -1, 2, -2):
            move(steps * FD_STEP)
            values.append(loss_of())
            move(-steps * FD_STEP)
        up, down, up2, down2 = values
        return (8.0 * (up - down) - (up2 - down2)) / (12.0 * FD_STEP)

    def error(measured, gradient):
        return abs(measured - gradient) / max(abs(gradient), FD_FLOOR)

    single = overall = 0.0
    with torch.no_grad():
        originals = {name: param.clone() for name, param in params.items()}

        def restore():
            for name, param in params.items():
                param.copy_(originals[name])

        for name, param in params.items():
            flat, grad = param.view(-1), grads[name].reshape(-1)
            # two at random, and the one with the largest gradient
            picks = rng.integers(0, flat.numel(), size=2).tolist()
            picks.append(int(grad.abs().argmax()))
            for i in picks:
                measured = slope(lambda step: flat[i].add_(step))
                restore()
                found = error(measured, grad[i].item())
                if found > FD_LIMIT:
                    raise RuntimeError(f"{name}[{i}]: relative error {found:.1e}")
                single = max(single, found)

        for _ in range(3):
            direction = {
                name: torch.from_numpy(rng.standard_normal(tuple(p.shape)))
                for name, p in params.items()
            }
            length = sum((d * d).sum() for d in direction.values()).sqrt()

            def move(step):
                for name, param in params.items():
                    param.add_(direction[name], alpha=step / length.item())

            expected = sum(
                (direction[name] * grads[name]).sum() for name in params) / length
            found = error(slope(move), expected.item())
            restore()
            if found > FD_LIMIT:
                raise RuntimeError(f"direction: relative error {found:.1e}")
            overall = max(overall, found)
    return single, overall


def saved_form(model):
    """config.json and the tensor names as `save_pretrained` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = (Path(folder) / "config.json").read_text(encoding="utf-8")
        names = set(load_file(str(Path(folder) / "model.safetensors")))
    return config, names


def make(name, cls, config, rng):
    """All of one fixture: tensors, metadata, and what the checks measured."""
    data = bert_data(rng) if cls is transformers.BertForMaskedLM else causal_data(rng)
    ids, labels, documents = data

    with DoubleForFloat(), NoLowPrecision():
        model = build(cls, config)
        randomise(model, rng)
        params = dict(model.named_parameters())  # a tied tensor comes once
        logits, loss = forward(model, *data)
        grads = dict(zip(params, torch.autograd.grad(loss, list(params.values()))))
        logits, loss = logits.detach(), loss.detach()
        single, overall = check_gradients(
            params, grads, lambda: forward(model, *data)[1].item(), rng)
    plain = check_plain(cls, config, model, data, logits)

    config_json, names = saved_form(model)
    if names != set(params):
        raise RuntimeError(f"names differ: {sorted(names ^ set(params))}")

    tensors = {"input_ids": ids.int(), "labels": labels.int()}
    if documents is not None:
        tensors["documents"] = documents.int()
        logits[documents < 0] = 0.0  # nobody should compare these
    tensors["logits"] = logits
    tensors["loss"] = loss
    for key, param in params.items():
        tensors["weight." + key] = param.detach()
        tensors["grad." + key] = grads[key]
    for key, tensor in tensors.items():
        if tensor.is_floating_point():
            assert tensor.dtype == torch.float64 and torch.isfinite(tensor).all(), key

    metadata = {
        "config": config_json,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    measured = {
        "loss": loss.item(),
        "parameters": sum(p.numel() for p in params.values()),
        "fd_element": single,
        "fd_direction": overall,
        "plain": plain,
    }
    return tensors, metadata, measured


# ------------------------------------------------------------------------ files


def encode(tensors, metadata):
    """The bytes of a safetensors file. Written out here rather than with the
    library because that one does not promise an order for the metadata, and we
    want the same bytes from every run."""
    dtypes = {torch.float64: ("F64", "<f8"), torch.int32: ("I32", "<i4")}
    header, blocks, offset = {"__metadata__": dict(sorted(metadata.items()))}, [], 0
    # wide elements first, so that all of them stay aligned
    for name in sorted(tensors, key=lambda n: (-tensors[n].element_size(), n)):
        tensor = tensors[name]
        tag, order = dtypes[tensor.dtype]
        block = tensor.contiguous().numpy().astype(order).tobytes()
        header[name] = {
            "dtype": tag,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(block)],
        }
        blocks.append(block)
        offset += len(block)
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(blocks)


def compare(path, tensors):
    """Largest difference between the tensors and those in an existing file."""
    stored = load_file(str(path))
    if set(stored) != set(tensors):
        raise SystemExit(f"{path}: other tensors: {sorted(set(stored) ^ set(tensors))}")
    largest = 0.0
    for name, tensor in tensors.items():
        if stored[name].shape != tensor.shape or stored[name].dtype != tensor.dtype:
            raise SystemExit(f"{path}: {name} has another shape or type")
        largest = max(largest, (stored[name].double() - tensor.double()).abs().max().item())
    return largest


def main():
    table = model_table()
    parser = argparse.ArgumentParser(
        description="Make (or check) the reference fixtures.",
        epilog="models: " + ", ".join(table))
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        default=Path(__file__).resolve().parent / "fixtures",
        help="where the .safetensors files are (default: fixtures, beside this script)")
    parser.add_argument(
        "--seed", type=int, default=20240607,
        help="of all random numbers (default: %(default)s)")
    parser.add_argument(
        "--only", nargs="+", choices=list(table), metavar="MODEL", default=list(table),
        help="make these models only (the others keep their files)")
    parser.add_argument(
        "--check", action="store_true",
        help="write nothing; compare with the existing files instead")
    parser.add_argument(
        "--tolerance", type=float, default=1e-12,
        help="largest difference that --check accepts (default: %(default)s)")
    options = parser.parse_args()

    print("python", platform.python_version(), "| torch", torch.__version__,
          "| transformers", transformers.__version__, "| numpy", np.__version__,
          "| safetensors", safetensors.__version__)
    transformers.logging.set_verbosity_error()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # one order of summation, whatever the machine
    prove_guard_works()

    total = 0
    if not options.check:
        options.out.mkdir(parents=True, exist_ok=True)
    for index, (name, (cls, config)) in enumerate(table.items()):
        if name not in options.only:
            continue
        rng = np.random.default_rng([options.seed, index])
        tensors, metadata, measured = make(name, cls, config, rng)
        print(f"{name}: {measured['parameters']} parameters, "
              f"loss {measured['loss']:.12f}, "
              f"finite differences {measured['fd_element']:.1e} (elements) "
              f"{measured['fd_direction']:.1e} (directions), "
              f"plain model {measured['plain']:.1e}")
        path = options.out / f"{name}.safetensors"
        if options.check:
            largest = compare(path, tensors)
            print(f"  largest difference to {path.name}: {largest:.1e}")
            if not largest <= options.tolerance:
                raise SystemExit(f"{path}: differs by {largest:.1e}")
        else:
            content = encode(tensors, metadata)
            path.write_bytes(content)
            compare(path, tensors)  # the library can read what we wrote
            total += len(content)
            print(f"  {path.name}: {len(content)} bytes")
    if not options.check:
        print("total:", total, "bytes")


if __name__ == "__main__":
    main()
