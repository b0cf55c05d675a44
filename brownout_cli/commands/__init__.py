"""Commands that run or describe parts of Brownout on this machine."""
