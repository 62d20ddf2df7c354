# ---- the environment ----

# What the machine is and how it is set, in the form of snapshot.sh: key, tab, value; the last line tells how many. No
# variables of the environment (they may hold secrets), no names and serials of the machine.
function Save-Environment([string] $Attempt, [string] $When) {
    $lines = New-Object Collections.Generic.List[string]
    Add-Fact $lines 'moment' $When
    Add-Fact $lines 'time.utc' (Get-Now)
    foreach ($query in @(
            @('os', 'Win32_OperatingSystem', @(
                    'Caption', 'Version', 'BuildNumber', 'OSArchitecture', 'LastBootUpTime', 'TotalVisibleMemorySize',
                    'FreePhysicalMemory')),
            @('system', 'Win32_ComputerSystem', @(
                    'Manufacturer', 'Model', 'NumberOfProcessors', 'NumberOfLogicalProcessors', 'TotalPhysicalMemory',
                    'HypervisorPresent')),
            @('cpu', 'Win32_Processor', @(
                    'Name', 'NumberOfCores', 'NumberOfEnabledCore', 'NumberOfLogicalProcessors', 'MaxClockSpeed',
                    'CurrentClockSpeed', 'L2CacheSize', 'L3CacheSize')),
            @('bios', 'Win32_BIOS', @('Manufacturer', 'SMBIOSBIOSVersion', 'ReleaseDate')),
            @('memory', 'Win32_PhysicalMemory', @('DeviceLocator', 'Capacity', 'Speed', 'ConfiguredClockSpeed')),
            @('disk', 'Win32_DiskDrive', @(
                    'Index', 'Model', 'FirmwareRevision', 'InterfaceType', 'Size', 'BytesPerSector')),
            @('volume', 'Win32_LogicalDisk', @('DeviceID', 'DriveType', 'FileSystem', 'Size', 'FreeSpace', 'Compressed')),
            @('hotfix', 'Win32_QuickFixEngineering', @('HotFixID')))) {
        try {
            $number = 0
            foreach ($item in @(Get-CimInstance -ClassName $query[1] -Property $query[2] -OperationTimeoutSec 20)) {
                foreach ($name in $query[2]) { Add-Fact $lines "$($query[0]).$number.$name" $item.$name }
                $number++
            }
        } catch { Add-Fact $lines "$($query[0]).error" $_.Exception.Message }
    }
    Add-Output $lines 'power.scheme' 'powercfg.exe' '/getactivescheme'
    Add-Output $lines 'trim' 'fsutil.exe' 'behavior query DisableDeleteNotify'
    Add-Fact $lines 'powershell.version' $PSVersionTable.PSVersion
    $text = @('environment-snapshot 1') + $lines.ToArray() + @("end`t$($lines.Count)")
    Set-RunText $Attempt "environment-$When.txt" ($text -join "`n")
}

function Add-Fact($Lines, [string] $Name, $Value) {
    if ($null -eq $Value) { return }
    if ($Value -is [DateTime]) {
        $Value = $Value.ToUniversalTime().ToString('yyyy-MM-ddTHH:mm:ssZ', [Globalization.CultureInfo]::InvariantCulture)
    }
    $escaped = New-Object Text.StringBuilder
    foreach ($byte in $Utf8.GetBytes(([string] $Value).Trim())) {
        if ($byte -ge 32 -and $byte -le 126 -and $byte -ne 92) {
            $null = $escaped.Append([char] $byte)
        } else { $null = $escaped.Append('\' + [Convert]::ToString($byte, 8).PadLeft(3, '0')) }
    }
    if ($escaped.Length) { $Lines.Add("$Name`t$($escaped.ToString())") }
}

function Add-Output($Lines, [string] $Name, [string] $Program, [string] $Arguments) {
    try {
        $path = [IO.Path]::Combine([Environment]::SystemDirectory, $Program)
        $start = New-Object Diagnostics.ProcessStartInfo($path, $Arguments)
        $start.UseShellExecute = $false
        $start.CreateNoWindow = $true
        $start.RedirectStandardOutput = $true
        $process = [Diagnostics.Process]::Start($start)
        $text = $process.StandardOutput.ReadToEnd()
        $process.WaitForExit()
        Add-Fact $Lines $Name $text
    } catch { Add-Fact $Lines "$Name.error" $_.Exception.Message }
}
