-- Stops wrk after a number of responses instead of a time, so that each capture has the same work. Ending the thread is not enough: wrk continues to sleep.
function init(args)
   left = tonumber(args[1])
end

function response()
   left = left - 1
   if left == 0 then os.exit(0) end
end
