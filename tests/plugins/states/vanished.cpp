extern "C" __attribute__((visibility("default"))) int assay_test_vanished();
extern "C" int assay_test_vanished() { return 1; }
