# Web users and FTP clients behind one bottleneck, in ns-2: ns web.tcl POINT TRACE
#
# POINT is a Tcl file written by `bench agree`: the path, the plan, and what each user fetches and
# when. The two ends of each connection are FullTcp agents. Prints the measurements; if TRACE is not
# "", also writes ns-2's trace of the bottleneck to that file.

source [lindex $argv 0]
set trace [lindex $argv 1]

remove-all-packet-headers
add-packet-header IP TCP Flags
Trace set show_tcphdr_ 1
set ns [new Simulator]
$ns use-scheduler Heap

# As the thesis' simulator of 1998, which `timers = "ns-2"` is: ticks of 100 ms, 6 s for a lost SYN.
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 64
Agent/TCP set window_ $max_window
Agent/TCP set windowInit_ $initial_window
Agent/TCP set slow_start_restart_ false
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ 1

# A pair of agents at the hosts number `pair`, reused for one connection after the other, because
# creating agents takes ns-2 milliseconds.
Class Connection
Connection instproc init {pair} {
    $self instvar place client server
    global ns client_node server_node
    $self next
    set place $pair
    set client [new Agent/TCP/FullTcp/Tahoe]
    set server [new Agent/TCP/FullTcp/Tahoe]
    $ns attach-agent [lindex $client_node $pair] $client
    $ns attach-agent [lindex $server_node $pair] $server
    $ns connect $client $server
    foreach {side agent} [list client $client server $server] {
        $agent set connection $self
        set application [new Application]
        $application attach-agent $agent
        $application set side $side
        $application set connection $self
        $application start
    }
}

# A connection for user `u`.
proc connection {u} {
    global free client_node
    set pair [expr {$u % [llength $client_node]}]
    if {[info exists free($pair)] && [llength $free($pair)]} {
        set connection [lindex $free($pair) 0]
        set free($pair) [lrange $free($pair) 1 end]
    } else {
        set connection [new Connection $pair]
    }
    $connection begin $u
    return $connection
}

# `ask` lists the sizes of requested files; `answered` and `read` count them.
Connection instproc begin {u} {
    $self instvar user client server ask asked answered got read over
    set user $u
    set ask {}
    foreach count {asked answered got read} { set $count 0 }
    foreach agent [list $client $server] {
        set over($agent) 0
        $agent reset
    }
    $server listen
}

# An agent has closed. Packets in flight have arrived 2 s later: the path takes less.
Agent/TCP/FullTcp instproc done {} {
    [$self set connection] over $self
}

Connection instproc over {agent} {
    $self instvar client server over
    global ns
    if {$over($agent)} return
    set over($agent) 1
    if {$over($client) && $over($server)} {
        $ns at [expr {[$ns now] + 2}] "$self recycle"
    }
}

Connection instproc recycle {} {
    $self instvar place
    global free
    lappend free($place) $self
}

# Requests a file of `size` bytes.
Connection instproc request {size} {
    $self instvar client ask
    global request
    lappend ask $size
    $client sendmsg $request ""
}

Application instproc recv {bytes} {
    [$self set connection] [$self set side] $bytes
}

# The server has received data: it answers each complete request.
Connection instproc server {bytes} {
    $self instvar server ask asked answered
    global request
    incr asked $bytes
    while {$asked >= $request} {
        incr asked -$request
        $server sendmsg [lindex $ask $answered] ""
        incr answered
    }
}

# The client has received data: each complete response is one file.
Connection instproc client {bytes} {
    $self instvar user ask got read
    incr got $bytes
    while {$read < [llength $ask] && $got >= [lindex $ask $read]} {
        incr got -[lindex $ask $read]
        incr read
        has_file $user $self
    }
}

Connection instproc close {} {
    $self instvar client
    $client close
}

# Users. `state(u,…)`: the page's sizes, the number of files requested and received, the time waited,
# and the idle connections, the most recently used last.
proc next_page {u} {
    global state pages
    set state($u,files) [lindex $pages($u) [expr {$state($u,pages) % [llength $pages($u)]}]]
    incr state($u,pages)
    set state($u,asked) 0
    set state($u,got) 0
}

proc next_think {u} {
    global state think
    set span [lindex $think($u) [expr {$state($u,thinks) % [llength $think($u)]}]]
    incr state($u,thinks)
    return $span
}

proc begin_page {u} {
    global state ns
    set state($u,since) [$ns now]
    if {![ask_on_idle $u]} { ask $u [connection $u] }
}

# Sends a request on the most recently used idle connection. Returns whether there was one.
proc ask_on_idle {u} {
    global state
    set idle $state($u,idle)
    if {![llength $idle]} { return 0 }
    set state($u,idle) [lrange $idle 0 end-1]
    ask $u [lindex $idle end]
    return 1
}

# Requests the next file of the page.
proc ask {u connection} {
    global state
    set size [lindex $state($u,files) $state($u,asked)]
    incr state($u,asked)
    $connection request $size
}

proc has_file {u connection} {
    global state ns
    incr state($u,got)
    set all [llength $state($u,files)]
    if {$state($u,got) == $all} {
        end_page $u $connection
        return
    }
    if {$state($u,asked) == $all} {
        if {[plan_of $u] eq "parallel"} { lappend state($u,idle) $connection }
        return
    }
    ask $u $connection
    if {$state($u,got) > 1} return
    switch [plan_of $u] {
        parallel { ask_beside $u }
        pipelined {
            while {$state($u,asked) < $all} { ask $u $connection }
        }
    }
}

# Requests the other inlines on up to two more connections, new ones `gap` apart.
proc ask_beside {u} {
    global state ns gap
    for {set more [beside $u]} {$more > 0} {incr more -1} {
        if {![ask_on_idle $u]} {
            ask $u [connection $u]
            if {$more > 1} { $ns at [expr {[$ns now] + $gap}] "ask_beside $u" }
            return
        }
    }
}

# Number of requests that may still be sent, if three may be outstanding.
proc beside {u} {
    global state
    set left [expr {[llength $state($u,files)] - $state($u,asked)}]
    set room [expr {3 - ($state($u,asked) - $state($u,got))}]
    expr {$left < $room ? $left : $room}
}

proc end_page {u connection} {
    global state ns documents waited web_users
    if {[plan_of $u] eq "parallel"} {
        lappend state($u,idle) $connection
    } else {
        $connection close
    }
    if {$u < $web_users} {
        incr documents
        set waited [expr {$waited + [$ns now] - $state($u,since)}]
    }
    next_page $u
    $ns at [expr {[$ns now] + [next_think $u]}] "begin_page $u"
}

# FTP clients have one file per page.
proc plan_of {u} {
    global plan web_users
    expr {$u < $web_users ? $plan : "persistent"}
}

proc finish {} {
    global bottleneck documents waited
    set arrived [$bottleneck set parrivals_]
    set dropped [$bottleneck set pdrops_]
    puts "documents $documents"
    puts "waited $waited"
    puts "offered $arrived"
    puts "dropped $dropped"
    exit 0
}

proc tie {one other rate delay queue} {
    global ns
    $ns duplex-link $one $other $rate $delay DropTail
    $ns queue-limit $one $other $queue
    $ns queue-limit $other $one $queue
}

set near [$ns node]
set far [$ns node]
tie $near $far $rate $delay $queue
set client_node {}
set server_node {}
foreach client_delay {1ms 2ms 3ms 4ms} server_delay {0.1ms 2ms 3ms 4ms} {
    lappend client_node [$ns node]
    tie [lindex $client_node end] $near 10Mb $client_delay 50
    lappend server_node [$ns node]
    tie $far [lindex $server_node end] 10Mb $server_delay 50
}
# The packets with these numbers, counted from 0, are lost; the monitor counts them as arrived and dropped.
if {[llength $lost]} {
    set loss [new ErrorModel/List]
    $loss droplist $lost
    $loss drop-target [new Agent/Null]
    $ns lossmodel $loss $far $near
}
set bottleneck [$ns monitor-queue $far $near ""]
if {$trace ne ""} {
    set file [open $trace w]
    $ns trace-queue $far $near $file
    $ns trace-queue $near $far $file
}
set documents 0
set waited 0.0
for {set u 0} {$u < $users} {incr u} {
    set state($u,pages) 0
    set state($u,thinks) 0
    set state($u,idle) {}
    next_page $u
    $ns at $start($u) "begin_page $u"
}
$ns at $seconds finish
$ns run
