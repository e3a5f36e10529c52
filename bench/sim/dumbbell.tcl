# 100 long flows each way through one bottleneck, in ns-2: ns dumbbell.tcl SECONDS COUNT
#
# Written to be fast: no trace files, only the headers that TCP needs, the fastest TCP that keeps the
# link busy (Newreno, Sack1, Reno, Linux were tried) with the fastest scheduler (of Splay, Calendar,
# Heap, Map). Queues are monitored only if COUNT is 1, which does not change any packet.

set seconds [lindex $argv 0]
set count [lindex $argv 1]

set pairs 100
set spread 0.1

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Splay

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ 10
Agent/TCP set rtxcur_init_ 1.0
Agent/TCP set minrto_ 0.2
Agent/TCPSink set packetSize_ 40

proc tie {one other rate delay queue} {
    global ns tied
    $ns duplex-link $one $other $rate $delay DropTail
    $ns queue-limit $one $other $queue
    $ns queue-limit $other $one $queue
    lappend tied $one $other $other $one
}

proc host {router} {
    global ns
    set host [$ns node]
    tie $host $router 1Gb 1ms 1000
    return $host
}

# A sink acknowledges every segment.
proc flow {from to start} {
    global ns
    set sender [new Agent/TCP/Newreno]
    set receiver [new Agent/TCPSink]
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    $ns at $start "$sender send -1"
}

proc finish {} {
    global monitors
    set hops 0
    foreach monitor $monitors {
        incr hops [$monitor set pdepartures_]
    }
    puts "hops $hops"
    exit 0
}

set west [$ns node]
set east [$ns node]
tie $west $east 100Mb 20ms 250
for {set pair 0} {$pair < $pairs} {incr pair} {
    set left [host $west]
    set right [host $east]
    set start [expr {$spread * $pair / $pairs}]
    flow $left $right $start
    flow $right $left [expr {$start + 0.5 * $spread / $pairs}]
}
set monitors {}
if {$count} {
    foreach {from to} $tied {
        lappend monitors [$ns monitor-queue $from $to ""]
    }
}
$ns at $seconds finish
$ns run
