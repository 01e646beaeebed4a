// A shared library that is no plugin.
extern "C" __attribute__((visibility("default"))) int assay_test_something_else();
extern "C" int assay_test_something_else() { return 1; }
