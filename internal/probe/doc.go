// Package probe measures single transfers on an otherwise idle machine and holds
// them against the closed forms: host to device and back, and a PE's DMA from HBM
// near and far. It is what `kernbench probe` prints, and the first thing to look
// at when a number of a larger run surprises.
//
// It imports the machine and the closed forms of fabric; nothing imports it but
// the command.
package probe
