// Package sweep runs a bench at all points of a grid that a file describes.
//
// [New] reads the file, loads the configurations of all points and checks every setting, so
// that mistakes are reported before the first point runs. [Plan.Run] runs the points as an
// experiment. It returns a [Result], which can be written as text, CSV, JSON or a page.
package sweep
