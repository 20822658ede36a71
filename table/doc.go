// Package table has tables of results whose columns have units and roles.
//
// A [Column] has a name, a unit and a [Role]. The role says what the cells are: settings,
// results, bounds, checks or origins of rows. For a result it also says whether lower or
// higher numbers are better. Commands, figures and comparisons depend on the role, never on
// the name. The columns of a program's rows are the tagged fields of a Go struct
// ([ColumnsOf], [From]):
//
//	type row struct {
//		Size int64      `json:"size" table:"B,setting,message size"`
//		Time torch.Time `json:"time_ns" table:"ns,lower"`
//	}
//
// A [Table] can be written as text, CSV and JSON. CSV has the roles and units in comments
// before the header, and JSON has them under "schema". [ReadCSV] and [ReadJSON] therefore
// return the table that was written. They also read files without roles and units; the
// roles of the columns are then unknown.
//
// Of this module, the package imports only simtime and internal packages for files, text,
// lists and suggestions in errors.
package table
