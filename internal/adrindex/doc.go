// Command adrindex writes docs/adr/README.md, the index of the decision
// records beside it, and checks on the way that each record is complete:
//
//	go generate ./internal/adrindex
//
// A record is a file NNNN-title.md. Numbers run from 0001 without gaps, so that
// two branches which take the same one collide visibly. It reads
//
//	# NNNN: Title
//
//	Status: accepted
//	Date: 2026-11-15
//
//	## Context
//	## Decision
//	## Consequences
//
// with text under each heading. Status is proposed, accepted, rejected, or
// "superseded by NNNN". The test of this package fails when a record breaks
// these rules or the index is stale. Adrindex imports the standard library
// alone.
package main
