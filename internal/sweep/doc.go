// Package sweep runs a bench at all points of a grid that a file describes.
//
// [New] reads the file, loads the configurations of all points and checks every setting, so that
// mistakes are known before the first point runs. [Plan.Run] runs the points as an experiment and
// returns a [Result], which is written as text, CSV and JSON, and tells a page of itself.
package sweep
