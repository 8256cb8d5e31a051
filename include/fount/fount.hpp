// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything for a trainer of your own. Programs that use only parts include those headers instead.

#include <fount/app/model_main.hpp>
#include <fount/backend/threads.hpp>
#include <fount/config/checks.hpp>
#include <fount/config/precision.hpp>
#include <fount/config/presets.hpp>
#include <fount/core/units.hpp>
#include <fount/optim/clip.hpp>
#include <fount/optim/schedule.hpp>
#include <fount/train/evaluation_model.hpp>
#include <fount/train/generation_model.hpp>
#include <fount/train/plan.hpp>
#include <fount/train/training_model.hpp>
#include <fount/version.hpp>
