# ---- the guard ----

# Every reason why a file must not be written; what cannot be checked is one.
function Get-Refusals($Target) {
    try { Get-FileRefusals $Target.directory $Target.name ([long] $Target.n_bytes) }
    catch { "cannot be checked: $($_.Exception.Message)" }
}

function Get-FileRefusals([string] $Directory, [string] $Name, [long] $Bytes) {
    $parts = $Name.Split('\')
    if ($Directory -notmatch '^[A-Za-z]:\\[^<>:"/|?*]+$' -or $Directory.Contains('..')) {
        return 'the directory is not a plain path on a drive'
    }
    if (@($parts | Where-Object { $_ -cnotmatch '^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,127}(?<!\.)$' }).Count) {
        return 'the file is not a plain name'
    }
    if (@($parts | Where-Object { $_ -match '^(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(\.|$)' }).Count) {
        return 'the file has the name of a device of Windows'
    }
    $drive = New-Object IO.DriveInfo([IO.Path]::GetPathRoot($Directory))
    if (@('Fixed', 'Removable') -notcontains "$($drive.DriveType)") {
        return "the drive is no disk of this host, but $($drive.DriveType)"
    }
    $path = [IO.Path]::Combine($Directory, $Name)
    foreach ($place in (Get-FoldersTo ([IO.Path]::GetDirectoryName($path)))) {
        if (-not [IO.Directory]::Exists($place)) { return "the folder $place does not exist: make it" }
        if ([IO.File]::GetAttributes($place) -band [IO.FileAttributes]::ReparsePoint) {
            return "$place is a link, a junction or a mount point: it may lead out of the directory"
        }
    }
    foreach ($system in @($env:SystemRoot, $env:ProgramFiles, ${env:ProgramFiles(x86)}, $env:ProgramData)) {
        if ($system -and "$path\".StartsWith("$system\", [StringComparison]::OrdinalIgnoreCase)) {
            return "the directory belongs to the system ($system): name another one"
        }
    }
    $existing = 0
    if ([IO.Directory]::Exists($path)) { return 'exists, and is a folder' }
    if ([IO.File]::Exists($path)) {
        $existing = (New-Object IO.FileInfo($path)).Length
        $reason = Get-ExistingRefusal $path
        if ($reason) { return $reason }
    }
    if ($Bytes - $existing -gt $drive.AvailableFreeSpace - $Room) {
        return "needs $($Bytes - $existing) more bytes, but only $($drive.AvailableFreeSpace) are free on $($drive.Name)"
    }
}

# The folders from the drive down to one, the drive left out.
function Get-FoldersTo([string] $Path) {
    $place = [IO.Path]::GetPathRoot($Path)
    foreach ($part in $Path.Substring($place.Length).Split([char[]] '\', [StringSplitOptions]::RemoveEmptyEntries)) {
        $place = [IO.Path]::Combine($place, $part)
        $place
    }
}

function Get-ExistingRefusal([string] $Path) {
    if ([IO.File]::GetAttributes($Path) -band [IO.FileAttributes]::ReparsePoint) {
        return 'is a link: it may lead out of the directory; remove it'
    }
    if ((Get-Item -LiteralPath $Path -Force).LinkType) {
        return 'exists under other names as well (hard links): what they hold would be overwritten'
    }
    try {
        [IO.File]::Open($Path, [IO.FileMode]::Open, [IO.FileAccess]::ReadWrite, [IO.FileShare]::None).Dispose()
    } catch { return "is in use, or may not be written: $($_.Exception.Message)" }
}

# Whether nothing speaks against the targets of a run; the reasons go to its stderr.
function Test-Guarded([string] $Attempt, $Work) {
    $isGood = $true
    foreach ($target in @($Work.targets)) {
        foreach ($reason in @(Get-Refusals $target)) {
            if ($reason) {
                Add-Note $Attempt "refused: $($target.directory)\$($target.name): $reason"
                $isGood = $false
            }
        }
    }
    return $isGood
}

# ---- steps ----

# Lay a file out full of random data, as what was never written is not read from the disk; one that is whole stays.
function New-TestFile([string] $Path, [long] $Bytes, [DateTime] $Until) {
    $held = New-Object IO.FileInfo($Path)
    if ($held.Exists -and $held.Length -eq $Bytes) { return 'done' }
    $block = New-Object byte[] 4194304
    $random = New-Object Random
    $file = [IO.File]::Open($Path, [IO.FileMode]::Create, [IO.FileAccess]::Write, [IO.FileShare]::None)
    try {
        for ($left = $Bytes; $left -gt 0; $left -= $block.Length) {
            if (Test-Cancelled) { return 'cancelled' }
            if ([DateTime]::UtcNow -ge $Until) { return 'timed_out' }
            $random.NextBytes($block)
            $file.Write($block, 0, [int] [Math]::Min($left, [long] $block.Length))
        }
        $file.Flush($true)
    } finally { $file.Dispose() }
    return 'done'
}

# Run a program to its end; what it prints goes into files as it comes. Gives 'done', 'cancelled' or 'timed_out'.
function Invoke-Program([string] $Attempt, $Step, [DateTime] $Until) {
    $run = Get-RunFolder $Attempt
    $start = New-Object Diagnostics.ProcessStartInfo
    $start.FileName = Find-Program $Step.program
    $start.Arguments = $Step.arguments
    $start.WorkingDirectory = $run
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $outName = 'stdout'
    if ($Step.stdout) { $outName = $Step.stdout }
    $out = [IO.File]::Open([IO.Path]::Combine($run, $outName), [IO.FileMode]::Append)
    $err = [IO.File]::Open([IO.Path]::Combine($run, 'stderr'), [IO.FileMode]::Append)
    $answer = 'done'
    $process = $null
    try {
        $process = [Diagnostics.Process]::Start($start)
        $copies = @(
            $process.StandardOutput.BaseStream.CopyToAsync($out)
            $process.StandardError.BaseStream.CopyToAsync($err))
        # Who comes after this agent must know what it may end: a number alone may have been given anew.
        Set-RunText $Attempt 'pid' "$($process.Id) $($process.StartTime.ToUniversalTime().Ticks)"
        while (-not $process.WaitForExit(1000)) {
            if (Test-Cancelled) { $answer = 'cancelled' } elseif ([DateTime]::UtcNow -ge $Until) { $answer = 'timed_out' }
            if ($answer -ne 'done') {
                $process.Kill()
                $null = $process.WaitForExit(30000)
                break
            }
        }
        foreach ($copy in $copies) { $null = $copy.Wait(30000) }
        if ($process.HasExited) { Set-RunText $Attempt 'exit_status' "$($process.ExitCode)" }
    } finally {
        if ($null -ne $process -and -not $process.HasExited) { $process.Kill() }
        $out.Dispose()
        $err.Dispose()
    }
    return $answer
}

function Find-Program([string] $Name) {
    if ([IO.Path]::IsPathRooted($Name)) {
        if (-not [IO.File]::Exists($Name)) { throw "expected the program $Name, found none" }
        return $Name
    }
    $found = @(Get-Command -Name $Name -CommandType Application -ErrorAction SilentlyContinue)
    if (-not $found.Count) { throw "expected $Name in a folder of PATH, found none" }
    return $found[0].Path
}

# One kind of steps of a run. Gives the state that it ends in, empty where all went well.
function Invoke-Steps([string] $Attempt, $Steps, [long] $Seconds) {
    $until = [DateTime]::UtcNow.AddSeconds($Seconds)
    foreach ($step in @($Steps)) {
        if (Test-Cancelled) { return 'cancelled' }
        if ($step.new_file) {
            $answer = New-TestFile $step.new_file ([long] $step.n_bytes) $until
        } else { $answer = Invoke-Program $Attempt $step $until }
        if ($answer -ne 'done') {
            Add-Note $Attempt "$($answer): a step was stopped after at most $Seconds s"
            return $answer
        }
        $status = Get-RunText $Attempt 'exit_status'
        if (-not $step.new_file -and $status -ne '0') {
            Add-Note $Attempt "a step ended with exit status $status"
            return 'failed'
        }
    }
    return ''
}
