# 10,000 new connections per second of 12 KB through one link, in ns-2: ns connections.tcl SECONDS COUNT
#
# Written to be fast: no trace files, and pairs of connected agents are reused from a pool.
# ns-2's own PackMimeHTTP reattaches its pooled agents for each connection, which is about six times
# slower. The server closes first, then the client.

set seconds [lindex $argv 0]
set count [lindex $argv 1]

set rate 10000.0
set request 100
set response 12000

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Splay

Agent/TCP set windowInit_ 10
Agent/TCP set window_ 1000
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set interval_ 0
# With 1, FullTcp does not acknowledge a short last segment, and the sender waits for its timer.
set acknowledge_all 0

proc pair {} {
    global ns client server acknowledge_all
    set opener [new Agent/TCP/FullTcp]
    set answerer [new Agent/TCP/FullTcp]
    $opener set segsperack_ $acknowledge_all
    $ns attach-agent $client $opener
    $ns attach-agent $server $answerer
    $ns connect $opener $answerer
    set application [new Application]
    $application attach-agent $answerer
    $application set agent $answerer
    $application start
    $opener set peer $answerer
    return $opener
}

# The request is one segment, so this is called once for each connection.
Application instproc recv {bytes} {
    global response
    [$self set agent] sendmsg $response MSG_EOF
}

# Both ends call this; the pool contains the client's end.
Agent/TCP/FullTcp instproc done {} {
    global free closed
    if {[$self info vars peer] ne ""} {
        lappend free $self
        incr closed
    }
}

proc open {} {
    global ns free opened rate request
    if {[llength $free]} {
        set opener [lindex $free end]
        set free [lreplace $free end end]
    } else {
        set opener [pair]
    }
    set answerer [$opener set peer]
    $answerer reset
    $answerer listen
    $opener sendmsg $request ""
    incr opened
    $ns at [expr {$opened / $rate}] open
}

proc finish {} {
    global monitors opened closed
    set hops 0
    foreach monitor $monitors {
        incr hops [$monitor set pdepartures_]
    }
    puts "hops $hops"
    puts "opened $opened"
    puts "closed $closed"
    exit 0
}

set client [$ns node]
set server [$ns node]
$ns duplex-link $client $server 10Gb 1ms DropTail
$ns queue-limit $client $server 1000
$ns queue-limit $server $client 1000
set free {}
set opened 0
set closed 0
set monitors {}
if {$count} {
    lappend monitors [$ns monitor-queue $client $server ""]
    lappend monitors [$ns monitor-queue $server $client ""]
}
$ns at 0 open
$ns at $seconds finish
$ns run
