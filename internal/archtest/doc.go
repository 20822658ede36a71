// Package archtest checks the rules of the module's architecture. It consists only of
// tests. They parse every Go file of the module and report each violation with its
// position.
//
// The rules:
//
//   - Packages form layers, listed in layers_test.go. A package imports only packages of its
//     own layer or of layers listed earlier. This includes its tests. In some layers,
//     packages must not import each other. Every package must be listed. The table in
//     docs/work/architecture.md has the same layers.
//   - Files named formula.go contain closed forms: costs computed without simulation. They
//     may import simtime for times, but not internal/sim, the simulation engine. The other
//     files of the package are the model and use no function of formula.go. So a test that
//     compares the model with a closed form compares two independent results.
//   - Only internal/config and tests import a YAML library. Only tests import a template
//     package: it would make the linker keep all exported methods. No package imports "C".
//   - The command links no plotting library (gonum) and no LaTeX parser.
//   - Only commands and examples print: fmt.Print, Printf and Println appear only in cmd,
//     internal/cli, examples and tests.
//   - Only internal/file opens, reads, writes and renames files of the user. The packages
//     that use system files or temporary files are listed in layers_test.go.
//   - Exported declarations of public packages mention no type of an internal package of the
//     module. A public package exports at most 150 functions, methods and types.
//     torch.Context has at most 30 exported methods.
//   - The records in docs/adr are complete, numbered without gaps, and listed in the index
//     docs/adr/README.md. go test ./internal/archtest -update writes the index.
//
// The package imports only internal/config/configtest. To change a rule, change it here and
// write an ADR that gives the reason.
package archtest
