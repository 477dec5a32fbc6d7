# Prints what tests prove as they end, and in the end the sum of all matrices: lines such as
# "proved: NAME: rows 8, let go 0". It fails if a test has, if nothing was proved, or if a sum is not what it must be: rows are as many as they
# are, one may be excused, and all else is 0.
/^(--- FAIL|FAIL|panic:)/ { failed = 1 }
/^ *(--- (FAIL|SKIP)|FAIL|ok|panic:)/ || / proved: / { print }
/^ +[a-z_0-9]+_test\.go:[0-9]+: / && !/ proved: / { print }
/ proved: .*: rows [0-9]+/ {
	matrices++
	line = $0
	sub(/.*: rows /, "rows ", line)
	n = split(line, parts, /, /)
	for (i = 1; i <= n; i++) {
		label = parts[i]
		sub(/ [0-9]+$/, "", label)
		count = parts[i]
		sub(/.* /, "", count)
		if (!(label in sum)) order[++labels] = label
		sum[label] += count
	}
}
END {
	printf "proved: %d matrices", matrices
	for (i = 1; i <= labels; i++) {
		printf "%s%s %d", i == 1 ? ": " : ", ", order[i], sum[order[i]]
		if (order[i] != "rows" && sum[order[i]] > (order[i] == "excused")) failed = 1
	}
	print ""
	exit failed || matrices == 0
}
