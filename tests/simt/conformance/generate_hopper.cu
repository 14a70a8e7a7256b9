// dump_hopper_instructions NAME.txt: the same for the vocabulary of Hopper GPUs; the dump goes to
// tests/simt/conformance/hopper_dumps/.
#include "tests/simt/conformance/generate.cuh"
#include "tests/simt/conformance/run_hopper_probes.cuh"

int main(int argc, char** argv) {
  return flashbook::probes::write_dump<flashbook::gpu::HopperProbeRun>(argc, argv);
}
