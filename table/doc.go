// Package table holds results as tables whose columns say what they are.
//
// A [Column] has a name, a unit and a [Role]: whether it is a setting, a result of which
// less or more is better, a bound, a check, or the origin of a row. Commands, figures and
// comparisons go by that, never by the name. The columns of a program's rows are the
// tagged fields of a Go struct ([ColumnsOf], [From]):
//
//	type row struct {
//		Size int64      `json:"size" table:"B,setting,message size"`
//		Time torch.Time `json:"time_ns" table:"ns,lower"`
//	}
//
// A [Table] is written as text for people, as CSV, as JSON and as HTML. CSV has the roles
// and units in comments before the header, JSON under "schema", so that [ReadCSV] and
// [ReadJSON] return the table that was written. Files without them are read as well: the
// roles of their columns are then unknown.
//
// The package imports of this module only what files, words and times are made of.
package table
