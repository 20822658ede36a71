// Command kernbench simulates a chiplet accelerator. See kernbench --help.
package main

import "github.com/kernbench/kernbench"

func main() { kernbench.Main() }
