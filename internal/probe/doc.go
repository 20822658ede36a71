// Package probe measures single transfers on an otherwise idle machine and compares them
// with closed forms: between host and device, and by the DMA engine of a PE from near and
// distant HBM. `kernbench probe` prints its report. If a result of a larger run is
// unexpected, look at this report first.
//
// The package uses internal/machine and the closed forms of internal/fabric. Only the
// command imports it.
package probe
