# ---- the queue ----

function Get-Waiting { @(Get-Queue | Where-Object { (Get-RunText $_ 'status') -eq 'waiting' }) }

function Remove-Waiting {
    $lock = Lock-File 'queue.lock' 60
    if ($null -eq $lock) { throw 'the queue is in use' }
    try {
        $waiting = @(Get-Waiting)
        foreach ($attempt in $waiting) { [IO.Directory]::Delete((Get-RunFolder $attempt), $true) }
        Set-Queue @(Get-Queue | Where-Object { $waiting -notcontains $_ })
    } finally { $lock.Dispose() }
}

# Each attempt appears at once, by renaming; then the queue names it. What is here already stays as it is.
function Add-Runs {
    New-Folders
    $lock = Lock-File 'queue.lock' 60
    if ($null -eq $lock) { throw 'the queue is in use' }
    try {
        $all = @(Get-Queue)
        foreach ($one in $Queue) {
            $attempt = $one[0]
            $run = Get-RunFolder $attempt
            if (-not [IO.Directory]::Exists($run) -and -not [IO.File]::Exists((Get-DoneFile $attempt '.json'))) {
                $incoming = Join-Folder "incoming.$([Guid]::NewGuid().ToString('N'))"
                $null = [IO.Directory]::CreateDirectory($incoming)
                Set-Text ([IO.Path]::Combine($incoming, 'command.json')) "$($one[1])`n"
                Set-Text ([IO.Path]::Combine($incoming, 'work.json')) "$($one[2])`n"
                Set-Text ([IO.Path]::Combine($incoming, 'status')) "waiting`n"
                [IO.Directory]::Move($incoming, $run)
            }
            if ([IO.Directory]::Exists($run) -and $all -cnotcontains $attempt) { $all += $attempt }
        }
        Set-Queue $all
    } finally { $lock.Dispose() }
}

# Works until nothing waits. A submission comes before the last look, or finds the agent gone when it starts one.
function Invoke-Queue {
    New-Folders
    $agent = Lock-File 'agent.lock' 1
    if ($null -eq $agent) { throw "another agent works in $Folder" }
    try {
        Set-Text (Join-Folder 'stopped') ''
        Repair-Runs
        $coolDown = 0
        while (-not (Test-Cancelled)) {
            $next = @(Get-Waiting)
            if (-not $next.Count) {
                $lock = Lock-File 'queue.lock' 60
                try {
                    if (-not @(Get-Waiting).Count) {
                        $agent.Dispose()
                        return
                    }
                } finally { if ($null -ne $lock) { $lock.Dispose() } }
                continue
            }
            for ($second = 0; $second -lt $coolDown -and -not (Test-Cancelled); $second++) { Start-Sleep -Seconds 1 }
            if (-not (Test-Cancelled)) { $coolDown = Invoke-Run $next[0] }
        }
        Remove-Waiting
    } catch {
        Add-Log "stopped: $($_.Exception.Message) at $($_.InvocationInfo.PositionMessage)"
        Set-Text (Join-Folder 'stopped') $_.Exception.Message
        throw
    } finally { $agent.Dispose() }
}

# ---- verbs ----

# What a session of sshd starts ends with the session, children too, as they are in one job object. What Windows'
# management service starts for us is not in it. A scheduled task would need a password, or an administrator.
function Start-Agent {
    New-Folders
    if (Test-Locked 'agent.lock') { return 'working' }
    if (Test-Cancelled) { [IO.File]::Delete((Join-Folder 'cancel')) }
    $shell = [IO.Path]::Combine([Environment]::SystemDirectory, 'WindowsPowerShell\v1.0\powershell.exe')
    $line = """$shell"" -NoProfile -NonInteractive -ExecutionPolicy Bypass -File ""$PSCommandPath"" -Verb work -Detached"
    $values = @{ CommandLine = $line; CurrentDirectory = $Folder }
    $answer = Invoke-CimMethod -ClassName Win32_Process -MethodName Create -Arguments $values
    if ($answer.ReturnValue -ne 0) { throw "expected the agent to start, found $($answer.ReturnValue) of Win32_Process" }
    for ($n = 0; $n -lt 40; $n++) {
        if (-not @(Get-Waiting).Count -or (Test-Locked 'agent.lock')) { break }
        Start-Sleep -Milliseconds 500
    }
    return 'started'
}

function Get-AgentState {
    if (Test-Locked 'agent.lock') { return 'working' }
    $reason = (Get-Text (Join-Folder 'stopped')) -replace '[\x00-\x1f]+', ' '
    if ($reason) { return "stopped: $reason" }
    if (Test-Cancelled) { return 'stopped: cancelled' }
    foreach ($attempt in @(Get-Queue)) {
        $status = Get-RunText $attempt 'status'
        if ($status -and $status -ne 'waiting') {
            return 'stopped: the agent was killed or the host was restarted in mid-run; continue'
        }
    }
    return 'idle'
}

# The runs in hand before those that are done: one that is packed meanwhile is seen twice rather than not at all.
function Write-Status {
    $lines = New-Object Collections.Generic.List[string]
    $lines.Add("now`t$(Get-Now)")
    $lines.Add("agent`t$(Get-AgentState)")
    foreach ($attempt in @(Get-Queue)) {
        $status = Get-RunText $attempt 'status'
        if ($status) {
            $lines.Add("run`t$attempt`t$status`t$(Get-RunText $attempt 'started_at')`t$(Get-RunText $attempt 'stopped_at')")
        }
    }
    if ([IO.Directory]::Exists((Join-Folder 'done'))) {
        foreach ($file in @([IO.Directory]::GetFiles((Join-Folder 'done'), '*.json') | Sort-Object)) {
            $lines.Add("done`t$(Get-Text $file)")
        }
    }
    $bytes = $Utf8.GetBytes(($lines -join "`n") + "`n")
    $out = [Console]::OpenStandardOutput()
    $out.Write($bytes, 0, $bytes.Length)
    $out.Flush()
}

function Stop-Agent {
    New-Folders
    Set-Text (Join-Folder 'cancel') ''
    $agent = Lock-File 'agent.lock' 75
    if ($null -eq $agent) { throw 'it is stopping, but is not done yet (packing?); see status' }
    try {
        Set-Text (Join-Folder 'stopped') ''
        Repair-Runs
        Remove-Waiting
    } finally { $agent.Dispose() }
    return 'cancelled'
}

# Reasons against any run of this script, for who asks before anything is sent to work.
function Get-AllRefusals {
    foreach ($one in $Queue) {
        foreach ($target in @(($one[2] | ConvertFrom-Json).targets)) {
            foreach ($reason in @(Get-Refusals $target)) {
                if ($reason) { "$($target.directory)\$($target.name)`t$reason" }
            }
        }
    }
}

switch ($Verb) {
    'version' { "$Version" }
    'submit' { Add-Runs }
    'start' { Start-Agent }
    'status' { Write-Status }
    'cancel' { Stop-Agent }
    'guard' {
        $reasons = @(Get-AllRefusals | Sort-Object -Unique)
        $reasons
        if ($reasons.Count) { exit 1 }
    }
    'work' {
        if (-not $Detached) {
            if (Test-Cancelled) { [IO.File]::Delete((Join-Folder 'cancel')) }
            Add-Runs
        }
        Invoke-Queue
    }
}
