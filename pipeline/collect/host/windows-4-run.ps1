# ---- one run ----

function Invoke-Run([string] $Attempt) {
    $work = [IO.File]::ReadAllText([IO.Path]::Combine((Get-RunFolder $Attempt), 'work.json')) | ConvertFrom-Json
    $needed = [long] $work.free_bytes + $Room
    if ((Get-FreeBytes $Folder) -lt $needed) {
        $found = "$(Get-FreeBytes $Folder) bytes are free in $Folder, $Attempt may take $needed"
        throw "disk full: $found; free some, then continue"
    }
    Set-RunText $Attempt 'started_at' (Get-Now)
    Set-Status $Attempt 'preparing'
    $state = 'failed'
    try {
        Save-Environment $Attempt 'before'
        $state = Invoke-Parts $Attempt $work
        Save-Environment $Attempt 'after'
    } catch { Add-Note $Attempt $_.Exception.Message }
    if (-not (Get-RunText $Attempt 'stopped_at')) { Set-RunText $Attempt 'stopped_at' (Get-Now) }
    Set-Status $Attempt $state
    Save-Archive $Attempt
    return [long] $work.cool_down_s
}

# The second look of the guard is the one that counts: preparing may have taken hours.
function Invoke-Parts([string] $Attempt, $Work) {
    if (-not (Test-Guarded $Attempt $Work)) { return 'refused' }
    $state = Invoke-Steps $Attempt $Work.prepare $Work.prepare_limit_s
    if ($state) { return $state }
    if (-not (Test-Guarded $Attempt $Work)) { return 'refused' }
    Set-RunText $Attempt 'started_at' (Get-Now)
    Set-Status $Attempt 'running'
    $state = Invoke-Steps $Attempt $Work.measure $Work.time_limit_s
    Set-RunText $Attempt 'stopped_at' (Get-Now)
    if ($state) { return $state }
    return 'complete'
}

# ---- packing ----

# Windows' own tar: another one in PATH may take D: for a host's name.
function Save-Archive([string] $Attempt) {
    $tar = [IO.Path]::Combine([Environment]::SystemDirectory, 'tar.exe')
    $temporary = Get-DoneFile $Attempt '.tar.gz.tmp'
    foreach ($arguments in @(@('-czf', $temporary, '-C', (Join-Folder 'runs'), $Attempt), @('-tzf', $temporary))) {
        $null = & $tar @arguments
        if ($LASTEXITCODE -ne 0) { throw "cannot pack ${Attempt}: tar.exe ended with exit status $LASTEXITCODE" }
    }
    $archive = Get-DoneFile $Attempt '.tar.gz'
    if ([IO.File]::Exists($archive)) { [IO.File]::Delete($archive) }
    [IO.File]::Move($temporary, $archive)
    $exit = Get-RunText $Attempt 'exit_status'
    $description = [ordered] @{
        attempt = $Attempt
        state = Get-RunText $Attempt 'status'
        exit_status = $(if ($exit) { [int] $exit } else { $null })
        started_at = $(if (Get-RunText $Attempt 'started_at') { Get-RunText $Attempt 'started_at' } else { $null })
        stopped_at = $(if (Get-RunText $Attempt 'stopped_at') { Get-RunText $Attempt 'stopped_at' } else { $null })
        sha256 = (Get-FileHash -LiteralPath $archive -Algorithm SHA256).Hash.ToLowerInvariant()
        n_bytes = (New-Object IO.FileInfo($archive)).Length
        archive = "$Attempt.tar.gz"
    }
    # `run` is put in as the client wrote it: it came as JSON on one line.
    $json = ($description | ConvertTo-Json -Compress).TrimEnd('}')
    $said = Get-RunText $Attempt 'command.json'
    if (-not $said) { $said = 'null' }
    Set-Text (Get-DoneFile $Attempt '.json') "$json,""run"":$said}`n"
    if ($Detached -or $Verb -ne 'work') {
        [IO.Directory]::Delete((Get-RunFolder $Attempt), $true)
    } else {
        $null = [IO.Directory]::CreateDirectory((Join-Folder 'logs'))
        [IO.Directory]::Move((Get-RunFolder $Attempt), [IO.Path]::Combine((Join-Folder 'logs'), $Attempt))
    }
}

# What an agent left that died, or whose host was restarted: it is ended, called by its name, and packed.
function Repair-Runs {
    foreach ($left in [IO.Directory]::GetFiles((Join-Folder 'done'), '*.tmp')) { [IO.File]::Delete($left) }
    foreach ($run in [IO.Directory]::GetDirectories((Join-Folder 'runs'))) {
        $attempt = [IO.Path]::GetFileName($run)
        if ($attempt -cnotmatch $Names) { continue }
        if ([IO.File]::Exists((Get-DoneFile $attempt '.json'))) {
            [IO.Directory]::Delete($run, $true)
            continue
        }
        $status = Get-RunText $attempt 'status'
        if ($status -eq 'waiting') { continue }
        if ($Ended -notcontains $status) {
            Stop-Left $attempt
            Set-Status $attempt $(if (Test-Cancelled) { 'cancelled' } else { 'interrupted' })
        }
        Save-Archive $attempt
    }
}

function Stop-Left([string] $Attempt) {
    $words = (Get-RunText $Attempt 'pid').Split(' ')
    if ($words.Count -ne 2) { return }
    $process = Get-Process -Id ([int] $words[0]) -ErrorAction SilentlyContinue
    if ($null -ne $process -and "$($process.StartTime.ToUniversalTime().Ticks)" -eq $words[1]) {
        $process.Kill()
        $null = $process.WaitForExit(30000)
    }
}
