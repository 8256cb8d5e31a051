// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in a file, both ways. A program that only reads, or only writes, includes one of the two.
// https://github.com/huggingface/safetensors

#include <fount/io/safetensors_reader.hpp>
#include <fount/io/safetensors_writer.hpp>
