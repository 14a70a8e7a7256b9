// dump_instructions NAME.txt: runs every probe on this machine's GPU and writes what it gave. The
// dump goes to tests/simt/conformance/dumps/, one file a kind of device, and simt_conformance_test
// compares the emulator with it.
#include "tests/simt/conformance/generate.cuh"
#include "tests/simt/conformance/run_probes.cuh"

int main(int argc, char** argv) {
  return flashbook::probes::write_dump<flashbook::gpu::ProbeRun>(argc, argv);
}
