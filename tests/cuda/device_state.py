#!/usr/bin/env python3
"""The state of the GPU in a row, by a fake NVML (fake/nvidia-ml.cpp): clocks, temperature, power and throttling around
the timed phase. Nothing here says anything of NVIDIA's own library."""
import json
import os
import pathlib

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME"))
NVML = FAKES / "libnvidia-ml.so.1"
READING = {"clock_hz": 1980e6, "memory_clock_hz": 2619e6, "temperature_celsius": 41, "power_w": 250, "power_limit_w": 700}
PROBLEM = "mb2ic8ih7oc4oh7kh3ph1"
REASONS = {"power", "heat", "board limit", "reliability", "hardware heat", "power brake"}


class DeviceStates(RunTest):
    def row(self, nvml=NVML, status="ok", code=0, **variables):
        """A row with the state of its GPU in it, and what was printed."""
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        preload = f"{PRELOAD}:{nvml}" if nvml else PRELOAD
        environment = self.environment(LD_PRELOAD=preload, ASSAY_CUDA_TRACE="0", FAKE_NVML_WATTS="250", **variables)
        said = self.command(BIN / "assay-conv", "--backend", "cuda", "--device", "gpu", "--problem", PROBLEM, "--max-time",
                            "0.02", "--min-samples", "3", "--out", out, env=environment, code=code)
        row = json.loads(out.read_text())["rows"][0]
        self.assertEqual(row["status"], status, row["reason"])
        return row, said.stdout

    def test_a_row_has_the_state_before_and_after(self):
        row, said = self.row()
        state = row["device_state"]
        self.assertEqual(state["before"], READING)
        self.assertEqual(state["after"], READING)
        self.assertEqual(state["throttled_s"], dict.fromkeys(REASONS, 0))
        self.assertTrue(state["steady"])
        self.assertGreater(state["seconds"], 0)
        self.assertNotIn("\u00b0", said)

    def test_samples_begin_when_the_clock_has_risen(self):
        state = self.row(FAKE_NVML_RAMP="8")[0]["device_state"]
        self.assertEqual(state["before"]["clock_hz"], 1980e6)
        self.assertTrue(state["steady"])

    def test_a_clock_that_never_settles_is_told(self):
        state = self.row(FAKE_NVML_UNSTEADY="1")[0]["device_state"]
        self.assertFalse(state["steady"])

    def test_throttling_by_power_or_heat_marks_the_row(self):
        for throttled in ("power=0.5", "heat=0.5", "hardware heat=0.5", "power brake=0.5", "power=0.01,heat=0.5"):
            row, said = self.row(FAKE_NVML_THROTTLED=throttled)
            self.assertRegex(said, "\u00b0 Throttled: power or heat|! Timed while other")  # which a busy machine adds
            reason = throttled.split(",")[-1].removesuffix("=0.5")
            self.assertGreater(row["device_state"]["throttled_s"][reason], 0.05 * row["device_state"]["seconds"])
        for throttled in ("power=0.001", "board limit=0.5", "reliability=0.5"):
            self.assertNotIn("\u00b0", self.row(FAKE_NVML_THROTTLED=throttled)[1])

    def test_a_count_in_another_unit_is_not_reported(self):
        state = self.row(FAKE_NVML_THROTTLED="power=0.5", FAKE_NVML_THROTTLE_UNIT="0.001")[0]["device_state"]
        self.assertEqual(set(state["throttled_s"]), REASONS - {"power"})

    def test_what_nvml_does_not_tell_is_absent(self):
        self.assertNotIn("device_state", self.row(nvml=None)[0])
        self.assertNotIn("device_state", self.row(FAKE_NVML_STATE="3")[0])
        # A library without one of the functions: its name is another one there.
        content = NVML.read_bytes()
        older = self.folder / NVML.name
        for function, gone in (("nvmlDeviceGetClockInfo", {"clock_hz", "memory_clock_hz"}),
                               ("nvmlDeviceGetEnforcedPowerLimit", {"power_limit_w"})):
            older.write_bytes(content.replace(function.encode() + b"\0", function[:-1].encode() + b"_\0"))
            state = self.row(nvml=older)[0]["device_state"]
            self.assertEqual(set(state["before"]), set(READING) - gone)
            self.assertEqual("steady" in state, "clock_hz" in state["before"])
        for function, left in (("nvmlDeviceGetViolationStatus", {"hardware heat", "power brake"}),
                               ("nvmlDeviceGetFieldValues", {"power", "heat", "board limit", "reliability"})):
            older.write_bytes(content.replace(function.encode() + b"\0", function[:-1].encode() + b"_\0"))
            self.assertEqual(set(self.row(nvml=older)[0]["device_state"]["throttled_s"]), left)

    def failed(self, **variables):
        """Why a row is failed."""
        return self.row(status="failed", code=7, **variables)[0]["reason"]

    def test_a_row_has_errors_and_links(self):
        health = self.row(FAKE_NVML_ECC="corrected dram=7+2,uncorrected sram=3", FAKE_NVML_REMAPPED="1,2,1,0",
                          FAKE_NVML_WIDTH="8")[0]["device_health"][0]
        self.assertEqual(health["device"], "GPU 0000:01:00.0")
        self.assertEqual(health["values"], {"pcie_width": 8, "pcie_width_max": 16, "remapping_pending": 1,
                                            "remapping_failed": 0, "rows_remapped_corrected": 1, "rows_remapped_uncorrected": 2})
        self.assertEqual({name: count for name, count in health["errors"].items() if count}, {"ecc uncorrected sram": 3})
        self.assertEqual(health["corrected"]["ecc corrected dram"], 9)
        self.assertEqual(health["corrected_meanwhile"], {"ecc corrected dram": 2})
        self.assertEqual(health["errors"]["ecc uncorrected dram"], 0)
        self.assertNotIn("device_health", self.row(nvml=None)[0])

    def test_an_error_that_rises_fails_the_row_and_is_located(self):
        self.assertRegex(self.failed(FAKE_NVML_ECC="uncorrected dram=5+1"),
                         r"GPU 0000:01:00.0 counted errors while this was measured: ecc uncorrected dram \(\+1\)")
        self.assertRegex(self.failed(FAKE_NVML_XID="48", FAKE_NVML_ECC=""), r"xid 48 \(\+1\)")
        # A counter that overflows or is set back has counted at least what it shows.
        self.assertRegex(self.failed(FAKE_NVML_ECC="uncorrected l2=9-7"), r"ecc uncorrected l2 \(\+2\)")
        self.row(FAKE_NVML_ECC="uncorrected dram=9-9")

    def test_a_card_that_vanishes_and_a_driver_that_hangs_fail_the_row(self):
        self.assertRegex(self.failed(FAKE_NVML_XID="79", FAKE_NVML_ECC=""), "GPU 0000:01:00.0 was lost: NVML says that the GPU is lost")
        self.assertRegex(self.failed(FAKE_NVML_HANGS="1", FAKE_NVML_ECC=""), "was lost: NVML has not answered for 5 s")


if __name__ == "__main__":
    main()
