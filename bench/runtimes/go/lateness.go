package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"os"
	"sort"
	"strconv"
)

func report(metric string, value float64) {
	fmt.Printf("%s\t%s\n", metric, strconv.FormatFloat(value, 'f', 6, 64))
}

func reportCount(metric string, value int64) {
	fmt.Printf("%s\t%d\n", metric, value)
}

// Reports how late the timers were, and writes the histogram if a file is named. Sorts the slice.
func reportLateness(latenessNs []int64, file string) error {
	sort.Slice(latenessNs, func(i, k int) bool { return latenessNs[i] < latenessNs[k] })
	// Returns the least lateness that so many thousandths of the timers do not exceed.
	quantileMs := func(thousandths int) float64 {
		place := (len(latenessNs)*thousandths + 999) / 1000
		if place == 0 {
			place = 1
		}
		return float64(latenessNs[place-1]) / 1e6
	}
	early := sort.Search(len(latenessNs), func(i int) bool { return latenessNs[i] >= 0 })
	reportCount("early", int64(early))
	report("earliest_ms", quantileMs(0))
	report("p50_ms", quantileMs(500))
	report("p90_ms", quantileMs(900))
	report("p99_ms", quantileMs(990))
	report("p999_ms", quantileMs(999))
	report("latest_ms", quantileMs(1000))
	if file == "" {
		return nil
	}
	return writeHistogram(latenessNs, file)
}

// The lower bound of the bucket of so many microseconds: each has its own below 16 in magnitude,
// and each power of two has 16 above. An early time is rounded away from 0.
func bucketUs(latenessUs int64) int64 {
	if latenessUs < 0 {
		width := bucketWidth(-latenessUs)
		return -((-latenessUs + width - 1) &^ (width - 1))
	}
	return latenessUs &^ (bucketWidth(latenessUs) - 1)
}

func bucketWidth(magnitudeUs int64) int64 {
	if magnitudeUs < 16 {
		return 1
	}
	return 1 << (bits.Len64(uint64(magnitudeUs)) - 5)
}

// Division that rounds down, so that a timer that is early by less than a microsecond counts as early.
func floorUs(ns int64) int64 {
	us := ns / 1000
	if ns%1000 < 0 {
		us--
	}
	return us
}

func writeHistogram(sortedNs []int64, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for i := 0; i < len(sortedNs); {
		bucket, first := bucketUs(floorUs(sortedNs[i])), i
		for i < len(sortedNs) && bucketUs(floorUs(sortedNs[i])) == bucket {
			i++
		}
		fmt.Fprintf(out, "%d,%d\n", bucket, i-first)
	}
	if err := out.Flush(); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
