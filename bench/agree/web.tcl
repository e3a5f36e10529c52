# Web users and FTP clients behind one bottleneck, in ns-2: ns web.tcl POINT TRACE
#
# POINT is a Tcl file that `bench agree` writes: the path, the plan, and what each user fetches and
# when. The two ends of each connection are new agents of FullTcp. Prints what was measured; with a
# TRACE other than "" also writes ns-2's trace of the bottleneck into that file.

source [lindex $argv 0]
set trace [lindex $argv 1]

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Heap

# As the thesis' simulator of 1998, which `timers = "ns-2"` is: ticks of 100 ms, 6 s for a lost SYN.
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 64
Agent/TCP set window_ $max_window
Agent/TCP set windowInit_ $initial_window
Agent/TCP set singledup_ 0
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ 1
Agent/TCP/FullTcp set interval_ 0

# A pair of agents at the hosts number `pair`, which carries one connection after the other: to make
# agents takes ns-2 milliseconds.
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

# `ask` lists sizes of files and whether the server closes afterwards; `answered` and `read` count them.
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

# An agent has closed. What is still under way is gone 2 s later: the path takes less.
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

# Requests a file of `size` bytes; `last` is 1 if the server closes afterwards.
Connection instproc request {size last} {
    $self instvar client ask
    global request
    lappend ask $size $last
    $client sendmsg $request ""
}

Application instproc recv {bytes} {
    [$self set connection] [$self set side] $bytes
}

# The server has received: it answers each whole request.
Connection instproc server {bytes} {
    $self instvar server ask asked answered
    global request
    incr asked $bytes
    while {$asked >= $request} {
        incr asked -$request
        set size [lindex $ask [expr {2 * $answered}]]
        set last [lindex $ask [expr {2 * $answered + 1}]]
        incr answered
        $server sendmsg $size [expr {$last ? "MSG_EOF" : ""}]
    }
}

# The client has received: each whole response is one file.
Connection instproc client {bytes} {
    $self instvar user ask got read
    incr got $bytes
    while {2 * $read < [llength $ask] && $got >= [lindex $ask [expr {2 * $read}]]} {
        incr got -[lindex $ask [expr {2 * $read}]]
        incr read
        has_file $user $self
    }
}

Connection instproc close {} {
    $self instvar client
    $client close
}

# Users. `state(u,…)`: the page's sizes, files asked and received, time waited.
proc next_page {u} {
    global state pages
    set nth $state($u,pages)
    incr state($u,pages)
    set list $pages($u)
    set state($u,files) [lindex $list [expr {$nth % [llength $list]}]]
    set state($u,asked) 0
    set state($u,got) 0
    set state($u,waited) 0.0
    set state($u,open) {}
}

proc next_think {u} {
    global state think
    set nth $state($u,thinks)
    incr state($u,thinks)
    lindex $think($u) [expr {$nth % [llength $think($u)]}]
}

proc begin_page {u} {
    global state ns
    set state($u,since) [$ns now]
    switch [plan_of $u] {
        serial - parallel { ask_alone $u }
        persistent - pipelined {
            set state($u,connection) [connection $u]
            ask_kept $u
        }
    }
}

# The next file on a connection of its own, which the server closes.
proc ask_alone {u} {
    global state
    set connection [connection $u]
    set size [lindex $state($u,files) $state($u,asked)]
    incr state($u,asked)
    $connection request $size 1
}

proc ask_kept {u} {
    global state
    set size [lindex $state($u,files) $state($u,asked)]
    incr state($u,asked)
    $state($u,connection) request $size 0
}

proc has_file {u connection} {
    global state ns gap
    incr state($u,got)
    set all [llength $state($u,files)]
    if {$state($u,got) == $all} {
        if {[lsearch {persistent pipelined} [plan_of $u]] >= 0} { $connection close }
        end_page $u
        return
    }
    switch [plan_of $u] {
        serial {
            thinks $u
            $ns at [expr {[$ns now] + [next_think $u]}] "set state($u,since) \[$ns now\]; ask_alone $u"
        }
        persistent { ask_kept $u }
        parallel {
            if {$state($u,got) == 1} { open_more $u }
        }
        pipelined {
            if {$state($u,got) == 1} {
                while {$state($u,asked) < $all} { ask_kept $u }
            }
        }
    }
}

# The inlines of a page, one connection each, `gap` apart.
proc open_more {u} {
    global state ns gap
    ask_alone $u
    if {$state($u,asked) < [llength $state($u,files)]} {
        $ns at [expr {[$ns now] + $gap}] "open_more $u"
    }
}

proc thinks {u} {
    global state ns
    set state($u,waited) [expr {$state($u,waited) + [$ns now] - $state($u,since)}]
}

proc end_page {u} {
    global state ns documents waited web_users
    thinks $u
    if {$u < $web_users} {
        incr documents
        set waited [expr {$waited + $state($u,waited)}]
    }
    next_page $u
    $ns at [expr {[$ns now] + [next_think $u]}] "begin_page $u"
}

proc plan_of {u} {
    global plan web_users
    expr {$u < $web_users ? $plan : "serial"}
}

proc finish {} {
    global bottleneck documents waited lost
    set arrived [$bottleneck set parrivals_]
    set dropped [$bottleneck set pdrops_]
    set early 0
    foreach nth $lost {
        if {$nth < $arrived + $early} { incr early }
    }
    puts "documents $documents"
    puts "waited $waited"
    puts "offered [expr {$arrived + $early}]"
    puts "dropped [expr {$dropped + $early}]"
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
# The packets with these numbers, counted from 0, are lost before the queue.
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
    next_page $u
    $ns at $start($u) "begin_page $u"
}
$ns at $seconds finish
$ns run
