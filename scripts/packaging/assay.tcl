#%Module1.0
## An environment module for an installed Assay (cmake --install build --prefix PREFIX). Tcl: Environment Modules and Lmod read it.
## Put it into a folder of MODULEPATH as assay/0.1.0, beside or away from the installation; ASSAY_PREFIX names the installation
## where this file is not in it.

proc ModulesHelp { } {
    puts stderr "Assay: benchmark suite for deep learning on HPC machines. `assay list suites` shows what it can run."
}
module-whatis "Assay: verified deep-learning benchmarks, acceptance of fleets, regression"
conflict assay

# share/assay/modulefiles/assay/VERSION of the installation, unless ASSAY_PREFIX says otherwise.
if {[info exists env(ASSAY_PREFIX)]} {
    set prefix $env(ASSAY_PREFIX)
} else {
    set prefix [file normalize [file join [file dirname $ModulesCurrentModulefile] .. .. .. ..]]
}
if {![file executable [file join $prefix bin assay]]} {
    puts stderr "assay: no bin/assay in $prefix (the module is not in its installation). Set ASSAY_PREFIX to the installation."
    break
}
setenv ASSAY_ROOT $prefix
prepend-path PATH [file join $prefix bin]
prepend-path MANPATH [file join $prefix share man]
