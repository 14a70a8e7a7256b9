#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {

using Implementations = std::vector<std::unique_ptr<Implementation>>;

/// Every implementation in C++, the oracle first. io.fa2 comes twice: with the blocks that are
/// fastest, and with small ones, so that small problems have many tiles.
Implementations implementations();

/// Reads what `--on` was given: cpu or gpu. Throws InputError.
Machine machine_called(const std::string& name);

/// The CUDA kernels, on the emulator or on the GPU. The emulator looks for races, counts nothing,
/// and runs each launch on one OS thread, because callers have many launches at once.
/// Throws InputError that says why there is no GPU.
Implementations kernels_on(Machine machine);

/// The options of that emulator.
simt::Options uncounted();

/// The one called `name`, on the machine `on` if that is not empty. A kernel's name may lack its
/// machine, which then is `on`, or the emulator. A name may also be one of io::blocked_pairs() with
/// blocks of your own: io.fa2[B_rxB_c], or [B_rxB_c/splits] where the keys are split.
/// Throws InputError listing the names there are, or that says why there is no GPU.
std::unique_ptr<Implementation> find_implementation(const std::string& name,
                                                    const std::string& on = {});

}  // namespace flashbook
