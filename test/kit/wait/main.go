package wait

import (
	"flag"
	"os"
	"strconv"
)

// Main runs the tests of a binary, so many at a time, because they wait more than they work.
func Main(m interface{ Run() int }, atOnce int) {
	AtOnce(atOnce)
	os.Exit(m.Run())
}

// AtOnce has so many tests of a binary run at a time, whatever the number of processors.
func AtOnce(tests int) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
}
