package printable

import (
	"fmt"
	"strconv"
)

// Runs returns ascending numbers as words: "3-5" for consecutive ones if there are at least
// so many of them, and else a word for each.
func Runs(list []int, least int) (words []string) {
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		if j-i >= least {
			words = append(words, fmt.Sprintf("%d-%d", list[i], list[j-1]))
			i = j
		}
		for ; i < j; i++ {
			words = append(words, strconv.Itoa(list[i]))
		}
	}
	return words
}
