#requires -Version 5.1
<#
Works through the runs of a campaign on this Windows host, alone; made for Windows PowerShell 5.1.

By hand:   powershell -ExecutionPolicy Bypass -File run.ps1
           It asks nothing, works in the folder that it stands in, and leaves the logs of each run in logs\ too.
-Verb      work (as by hand), submit, start, status, cancel, guard, version

The folder is like that of agent.sh: queue, runs\<attempt>\ (waiting or in hand), done\<attempt>.tar.gz and .json (packed;
the JSON comes last). A file is written under another name and renamed. A lock is a file that its process holds open.
#>
param(
    [ValidateSet('work', 'submit', 'start', 'status', 'cancel', 'guard', 'version')] [string] $Verb = 'work',
    [switch] $Detached
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$Version = 1
$Folder = $PSScriptRoot
$Room = 1048576  # bytes; a drive with less is full
$Names = '^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._+-]{0,199}$'
$Ended = @('complete', 'failed', 'timed_out', 'cancelled', 'interrupted', 'refused')
$Utf8 = New-Object System.Text.UTF8Encoding($false)

# ---- what the client wrote: texts only, nothing of them is run as a script ----

#SETTINGS#

# ---- small things ----

function Get-Now { [DateTime]::UtcNow.ToString('yyyy-MM-ddTHH:mm:ssZ', [Globalization.CultureInfo]::InvariantCulture) }

function Join-Folder([string] $Name) { [IO.Path]::Combine($Folder, $Name) }

function Add-Log([string] $Text) {
    try { [IO.File]::AppendAllText((Join-Folder 'agent.log'), "$(Get-Now) $Text`r`n", $Utf8) } catch { $null = $_ }
}

# Write a text whole or not at all, on the disk before it has its name. A virus scanner may hold it for a moment.
function Set-Text([string] $Path, [string] $Text) {
    $temporary = "$Path.tmp"
    $bytes = $Utf8.GetBytes($Text)
    $file = [IO.File]::Open($temporary, [IO.FileMode]::Create, [IO.FileAccess]::Write, [IO.FileShare]::None)
    try {
        $file.Write($bytes, 0, $bytes.Length)
        $file.Flush($true)
    } finally { $file.Dispose() }
    $until = [DateTime]::UtcNow.AddSeconds(10)
    while ($true) {
        try {
            if ([IO.File]::Exists($Path)) {
                [IO.File]::Replace($temporary, $Path, [NullString]::Value)
            } else { [IO.File]::Move($temporary, $Path) }
            return
        } catch {
            if ([DateTime]::UtcNow -ge $until) { throw }
            Start-Sleep -Milliseconds 100
        }
    }
}

# A text without the blanks around it; empty where there is none. It may be replaced while it is read.
function Get-Text([string] $Path) {
    try {
        $file = [IO.File]::Open($Path, [IO.FileMode]::Open, [IO.FileAccess]::Read, [IO.FileShare] 'ReadWrite, Delete')
        $reader = New-Object IO.StreamReader($file, $Utf8)
        try { $text = $reader.ReadToEnd() } finally { $reader.Dispose() }
        return $text.Trim()
    } catch { return '' }
}

function Get-FreeBytes([string] $Path) {
    (New-Object IO.DriveInfo([IO.Path]::GetPathRoot([IO.Path]::GetFullPath($Path)))).AvailableFreeSpace
}

# Hold a file open as a lock for up to so many seconds; null where another process holds it.
function Lock-File([string] $Name, [int] $Seconds) {
    $until = [DateTime]::UtcNow.AddSeconds($Seconds)
    while ($true) {
        try {
            return [IO.File]::Open((Join-Folder $Name), [IO.FileMode]::OpenOrCreate, [IO.FileAccess]::ReadWrite,
                [IO.FileShare]::None)
        } catch [IO.IOException] {
            if ([DateTime]::UtcNow -ge $until) { return $null }
            Start-Sleep -Milliseconds 200
        }
    }
}

function Test-Locked([string] $Name) {
    $lock = Lock-File $Name 0
    if ($null -eq $lock) { return $true }
    $lock.Dispose()
    return $false
}

function New-Folders {
    foreach ($name in @('runs', 'done')) { $null = [IO.Directory]::CreateDirectory((Join-Folder $name)) }
}

function Test-Cancelled { [IO.File]::Exists((Join-Folder 'cancel')) }

function Get-Queue { @((Get-Text (Join-Folder 'queue')).Split([char] 10) | Where-Object { $_ -cmatch $Names }) }

function Set-Queue([string[]] $Attempts) {
    Set-Text (Join-Folder 'queue') ((@($Attempts) | ForEach-Object { "$_`n" }) -join '')
}

function Get-RunFolder([string] $Attempt) { [IO.Path]::Combine((Join-Folder 'runs'), $Attempt) }

function Get-DoneFile([string] $Attempt, [string] $End) {
    [IO.Path]::Combine((Join-Folder 'done'), "$Attempt$End")
}

function Get-RunText([string] $Attempt, [string] $Name) {
    Get-Text ([IO.Path]::Combine((Get-RunFolder $Attempt), $Name))
}

function Set-RunText([string] $Attempt, [string] $Name, [string] $Text) {
    Set-Text ([IO.Path]::Combine((Get-RunFolder $Attempt), $Name)) "$Text`n"
}

function Set-Status([string] $Attempt, [string] $Status) {
    Set-RunText $Attempt 'status' $Status
    Add-Log "${Attempt}: $Status"
    if (-not $Detached -and $Verb -eq 'work') { [Console]::Out.WriteLine("$(Get-Now) ${Attempt}: $Status") }
}

# A line for the person who looks at the run.
function Add-Note([string] $Attempt, [string] $Text) {
    try { [IO.File]::AppendAllText([IO.Path]::Combine((Get-RunFolder $Attempt), 'stderr'), "agent: $Text`r`n", $Utf8) }
    catch { Add-Log "${Attempt}: $Text" }
}
