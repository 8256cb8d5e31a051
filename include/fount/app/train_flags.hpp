// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of `<model> train`, said once: visit_options names every value of TrainOptions, and
// flag_table says for every spelling that other trainers taught people what it does here. Parsing,
// --help, config files, environment and report all read these two.

#include <array>
#include <cstdint>
#include <string_view>

#include <fount/train/options.hpp>

namespace fount {

/// Calls visit(name, value, help) for everything that a config file may hold, in --help's order.
template <class Options, class Visitor>
void visit_options(Options& o, Visitor&& visit) {
  visit("data", o.data,
        "folder of prepared data (fount prepare), a shard, or a quoted pattern; with --tokenizer: "
        "text, such as books/ or 'c4/*.json.gz'");
  visit("val-data", o.val_data,
        "validation shards, or text; default: the shards of the data folder");
  visit("tokenizer", o.tokenizer,
        "read text while training: the file or folder of a tokenizer, or byte");
  visit("documents", o.documents,
        "what a document is in plain text: auto, file, blank_line, line; json_lines: all is JSON");
  visit("text-field", o.text_field,
        "member of a JSON object, or column of a Parquet file, that holds the text");
  visit("max-samples", o.max_samples, "read so many documents of the text in an epoch; 0: all");
  visit("min-words", o.min_words, "leave out documents with fewer words");
  visit("max-bad", o.max_bad, "share of broken documents that is left out; more is an error");
  visit("tokenizer-workers", o.tokenizer_workers,
        "threads that tokenize text; 0: as many as train, at most 4");
  visit("prefetch", o.prefetch, "blocks of 1024 sequences of text that are ready ahead");
  visit("stride", o.stride,
        "tokens from one sequence to the next, fewer than seq-len to overlap; 0: seq-len");
  visit("document-mask", o.document_mask, "true: attention stays within a document");
  visit("steps", o.steps, "updates in the whole run: the horizon of the learning rate");
  visit("tokens", o.tokens, "the horizon in tokens instead of steps, such as 10B; 0: in steps");
  visit("epochs", o.epochs, "the horizon in passes over the data; 0: in steps");
  visit("files", o.files, "the horizon in files of the data; 0: in steps");
  visit("batch-size", o.batch_size, "sequences of one micro-batch");
  visit("seq-len", o.seq_len, "tokens of a sequence; 0: the model's max_seq_len");
  visit("accumulate", o.accumulate, "micro-batches of one update");
  visit("learning-rate", o.learning_rate, "peak of the learning rate");
  visit("min-lr", o.min_lr, "floor that the schedule ends on");
  visit("schedule", o.schedule, "constant, linear, cosine or warmup_stable_decay");
  visit("warmup-steps", o.warmup_steps, "updates of linear warm-up");
  visit("optimizer", o.optimizer, "adamw or sgd");
  visit("beta1", o.beta1, "AdamW: decay of the first moment");
  visit("beta2", o.beta2, "AdamW: decay of the second moment");
  visit("eps", o.eps, "AdamW: added to the root of the second moment");
  visit("momentum", o.momentum, "SGD: momentum");
  visit("weight-decay", o.weight_decay,
        "decay of matrices and embeddings, not of norms and biases");
  visit("grad-clip", o.grad_clip, "largest gradient norm; 0: no clipping");
  visit("dropout", o.dropout, "of embeddings, attention and residuals; 0 to below 1");
  visit("recompute", o.recompute, "none, or block: keep block inputs only and run forward twice");
  visit("eval-interval", o.eval_interval, "updates between validations; 0: only first and last");
  visit("eval-batches", o.eval_batches, "most batches of one validation");
  visit("sample-interval", o.sample_interval, "updates between samples; 0: only first and last");
  visit("sample-prompt", o.sample_prompt, "text that samples begin with");
  visit("sample-tokens", o.sample_tokens, "length of a sample");
  visit("checkpoint-interval", o.checkpoint_interval, "updates between checkpoints; 0: at the end");
  visit("checkpoint-tokens", o.checkpoint_tokens, "tokens between checkpoints; 0: not counted");
  visit("checkpoint-epochs", o.checkpoint_epochs, "epochs between checkpoints; 0: not counted");
  visit("checkpoint-files", o.checkpoint_files, "files between checkpoints; 0: not counted");
  visit("keep", o.keep, "checkpoints kept besides the best; 0: all");
  visit("log-interval", o.log_interval, "updates between lines of the log");
  visit("seed", o.seed, "of weights, data order, dropout and samples");
  visit("threads", o.threads, "0: as many as affinity and control group allow");
  visit("precision", o.precision, "one of the precisions this program was built for");
}

/// What becomes of a spelling.
enum class FlagFate : std::uint8_t {
  works,    // another name of `target`
  derived,  // sets `target` after a calculation
  notice,   // accepted, changes nothing, and `text` says why
  model,    // a property of the compiled model: accepted if equal, refused with both values if not
  refused   // `text` names what replaces it
};

struct Flag {
  std::string_view name;  // without dashes in front; '-' and '_' are the same
  FlagFate fate;
  std::string_view target;  // the option or model field it means
  std::string_view text;
};

/// Every flag of the trainers that people come from.
inline constexpr std::array flag_table = {
    // S0: the 1.3B-8B trainer
    Flag{"max-steps", FlagFate::works, "steps", ""},
    Flag{"gradient-accumulation-steps", FlagFate::works, "accumulate", ""},
    Flag{"log-steps", FlagFate::works, "log-interval", ""},
    Flag{"output-dir", FlagFate::works, "output", ""},
    Flag{"resume-from-checkpoint", FlagFate::works, "resume", ""},
    Flag{"gradient-checkpointing", FlagFate::derived, "recompute", "true: block, false: none"},
    Flag{"model-size", FlagFate::refused, "",
         "the program is the model: run gpt-1.3b, gpt-3b, gpt-7b or gpt-8b instead"},
    Flag{"base-model", FlagFate::refused, "",
         "the program is the model: build a trainer of that architecture with fount_add_trainer"},
    Flag{"monitor-memory", FlagFate::notice, "", "memory is in every line of the log already"},
    Flag{"log-timing", FlagFate::notice, "", "the time of every step is in metrics.jsonl already"},
    Flag{"use-flash-attn", FlagFate::notice, "", "attention is always tiled; there is no other"},
    Flag{"use-fused-optimizer", FlagFate::notice, "", "the update is always one pass"},
    Flag{"tokenizer-num-workers", FlagFate::works, "tokenizer-workers", ""},
    Flag{"prefetch-factor", FlagFate::works, "prefetch", ""},
    Flag{
        "use-fsdp", FlagFate::refused, "",
        "this version trains in one process; `plan --zero-stage 3` shows what sharding would need"},
    Flag{"nproc-per-node", FlagFate::refused, "",
         "this version trains in one process; use --threads"},
    // S2: the Llama framework
    Flag{"data-dir", FlagFate::works, "data", ""},
    Flag{"save-dir", FlagFate::works, "output", ""},
    Flag{"checkpoint", FlagFate::works, "resume", ""},
    Flag{"hidden-size", FlagFate::model, "hidden_size", ""},
    Flag{"num-layers", FlagFate::model, "num_layers", ""},
    Flag{"num-heads", FlagFate::model, "num_heads", ""},
    Flag{"num-kv-heads", FlagFate::model, "num_kv_heads", ""},
    Flag{"vocab-size", FlagFate::model, "vocab_size", ""},
    Flag{"micro-batch-size", FlagFate::derived, "accumulate",
         "--batch-size is then the effective batch, and accumulate their quotient"},
    Flag{"mixed-precision", FlagFate::notice, "",
         "16-bit formats are precisions here: --precision bf16_mixed, where it was built in"},
    Flag{"compile-model", FlagFate::notice, "", "everything is compiled already"},
    Flag{"nnodes", FlagFate::refused, "", "this version trains in one process; use --threads"},
    Flag{"node-rank", FlagFate::refused, "", "this version trains in one process; use --threads"},
    Flag{"master-addr", FlagFate::refused, "", "this version trains in one process; use --threads"},
    Flag{"master-port", FlagFate::refused, "", "this version trains in one process; use --threads"},
    Flag{"input-dir", FlagFate::refused, "",
         "text is prepared by `fount prepare --input`, or read by --data with --tokenizer"},
    Flag{"tokenizer-type", FlagFate::refused, "",
         "text is prepared by `fount prepare --tokenizer`, or read by --data with --tokenizer"},
    Flag{"max-length", FlagFate::refused, "", "use --seq-len"},
    Flag{"num-workers", FlagFate::notice, "",
         "shards are mapped, and text has --tokenizer-workers"},
    // S3: the masked-language-model trainer
    Flag{"lr", FlagFate::works, "learning-rate", ""},
    Flag{"dataset", FlagFate::refused, "",
         "name files: --data FOLDER of `fount prepare`, or --data 'imdb/*.txt' --tokenizer T; "
         "`fount fetch` says where the usual data sets are"},
    Flag{"streaming", FlagFate::notice, "",
         "shards are mapped, and text is always streamed: --data TEXT --tokenizer T"},
    Flag{"local-rank", FlagFate::notice, "", "this version trains in one process"},
    // S4: the GPT-2 trainer
    Flag{"num-iterations", FlagFate::works, "steps", ""},
    Flag{"sequence-length", FlagFate::works, "seq-len", ""},
    Flag{"total-batch-size", FlagFate::derived, "accumulate",
         "tokens of an update: accumulate x batch size x sequence length"},
    Flag{"compile", FlagFate::notice, "", "everything is compiled already"},
    Flag{"tensorcores", FlagFate::notice, "", "there are none on a CPU"},
    Flag{"flash", FlagFate::notice, "", "attention is always tiled; there is no other"},
    Flag{"dtype", FlagFate::derived, "precision", "float32: fp32, bfloat16: bf16_mixed"},
    Flag{"input-train-bin", FlagFate::works, "data", ""},
    Flag{"input-val-bin", FlagFate::works, "val-data", ""},
    Flag{"learning-rate-decay-frac", FlagFate::derived, "min-lr", "part of the learning rate"},
    Flag{"warmup-iters", FlagFate::works, "warmup-steps", ""},
    Flag{"overfit-single-batch", FlagFate::derived, "overfit", "0 or 1"},
    Flag{"val-loss-every", FlagFate::works, "eval-interval", ""},
    Flag{"sample-every", FlagFate::works, "sample-interval", ""},
    Flag{"save-every-niter", FlagFate::works, "checkpoint-interval", ""},
    Flag{"zero-stage", FlagFate::derived, "", "0; `plan --zero-stage` answers for the others"},
    Flag{"wandb-log-iters", FlagFate::notice, "", "metrics.jsonl holds every step"},
    Flag{"wandb-project-id", FlagFate::notice, "", "metrics.jsonl holds every step"},
    Flag{"standalone", FlagFate::notice, "", "this version trains in one process"},
};

}  // namespace fount
