# usage: awk -f sum.awk LIST SERIAL
# Sums up what every guest wrote, a line for each filter of the list, after what
# the tests that failed had to say. Fails where one failed or broke down, where
# a filter found no test, and where a guest did not come to its end.

function still_open(why) {
    if (test == "") return
    printf "%s%s: %s\n", text, why, test
    failed[filter]++
    bad = 1
    test = ""
}

FNR == NR {
    if (!($2 in known)) filters[++count] = $2
    known[$2] = 1
    next
}
/^program / {
    still_open("broke down in")
    filter = $3
    next
}
/^\[ RUN      \] / {
    still_open("broke down in")
    test = $4
    text = ""
    next
}
/^\[       OK \] / {
    passed[filter]++
    test = ""
}
/^\[  SKIPPED \] .*ms\)$/ {
    print text "skipped even there: " test
    skipped[filter]++
    test = ""
}
/^\[  FAILED  \] .*ms\)$/ { still_open("failed") }
/^status / {
    still_open("broke down in")
    if ($2 != 0) bad = 1
}
/^lost / {
    still_open("was at")
    print "a guest did not come to its end: its time was up, or Linux fell"
    bad = 1
}
test != "" && length(text) < 20000 { text = text $0 "\n" }
END {
    for (i = 1; i <= count; i++) {
        f = filters[i]
        printf "emulated: %d passed, %d skipped, %d failed: %s\n",
                passed[f], skipped[f], failed[f], f
        if (!passed[f] && !failed[f]) {
            print "no test ran of " f
            bad = 1
        }
    }
    exit bad
}
