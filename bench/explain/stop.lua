-- wrk counts time; this counts responses, so that each capture has the same work in it. Ending the thread would not do: wrk sleeps on.
function init(args)
   left = tonumber(args[1])
end

function response()
   left = left - 1
   if left == 0 then os.exit(0) end
end
