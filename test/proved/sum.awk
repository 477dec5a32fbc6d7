# Prints the results of go test as they come, and in the end the sum of what the matrices have proved (tally.go). It fails if a test has, if
# nothing was proved, or if a sum is not what it must be.
/^(--- FAIL|FAIL|panic:)/ { failed = 1 }
/^ *(--- (FAIL|SKIP)|FAIL|ok|panic:)/ || / proved: / || /foreign deletions/ { print }
/^ +[a-z_0-9]+_test\.go:[0-9]+: / && !/ proved: / && !/foreign deletions/ { print }
/ proved: .*: rows [0-9]+,/ {
	matrices++
	line = $0
	sub(/.*: rows /, "", line)
	split(line, part, /[^0-9]+/)
	for (i = 1; i <= 6; i++) sum[i] += part[i]
}
END {
	printf "proved: %d matrices: rows %d, foreign deleted %d, foreign shown %d, let go %d, second VMs %d, excused %d\n", \
		matrices, sum[1], sum[2], sum[3], sum[4], sum[5], sum[6]
	exit failed || matrices == 0 || sum[2] + sum[3] + sum[4] + sum[5] > 0 || sum[6] > 1
}
