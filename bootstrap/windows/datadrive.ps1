# Sees that there is a drive with the letter in the environment: it is there already, or the one empty disk of the machine becomes
# it. Which one that is stands in a file before it is touched: a later run takes that disk alone, and does what is missing.
param([string]$Letter = $env:CAPWIN_DRIVE)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
# Files with its UniqueId, because numbers change. Seen: Windows may not know the partitions of a disk that is offline. Ours: has none.
$seen, $ours = 'seen', 'ours' | ForEach-Object { Join-Path $PSScriptRoot "data-drive.$_" }
function Test-Empty($Disk) { $Disk.PartitionStyle -eq 'RAW' -and $Disk.NumberOfPartitions -eq 0 }
function Find-Disk([string]$Id) {
    $found = @(Get-Disk | Where-Object { $_.UniqueId -ceq $Id })
    if ($Id.Trim() -and $found.Count -eq 1) { return $found[0] }
    throw "$($found.Count) disks have the UniqueId '$Id', and drive ${Letter}: needs a disk with an id that no other has; attach one"
}
foreach ($drive in Get-CimInstance -ClassName Win32_LogicalDisk -Filter "DeviceID = '${Letter}:'") {
    if ($drive.DriveType -ne 3) { throw "drive ${Letter}: is not a disk, but perhaps a CD-ROM; use another letter" }
    if ($drive.FileSystem -ne 'NTFS') { throw "drive ${Letter}: has the file system '$($drive.FileSystem)'; format it with NTFS" }
    "free $([Math]::Floor($drive.FreeSpace / 1MB)) MiB"; exit 0
}
if ($env:CAPWIN_FORMAT -ne 'IfEmpty') { throw "there is no drive ${Letter}:; use format: IfEmpty and an empty disk" }
$id = foreach ($file in $ours, $seen) { if ([IO.File]::Exists($file)) { [IO.File]::ReadAllText($file); break } }
if ($null -eq $id) {
    $empty = @(Get-Disk | Where-Object { Test-Empty $_ })
    if ($empty.Count -ne 1) { throw "$($empty.Count) disks have no partitions, and one must become drive ${Letter}:; attach one" }
    $id = [string]$empty[0].UniqueId
    $file = if ((Find-Disk $id).IsOffline) { $seen } else { $ours }
    $text = New-Object IO.StreamWriter([IO.File]::Create("$file.new", 4096, 'WriteThrough'))
    $text.Write($id); $text.Dispose(); [IO.File]::Move("$file.new", $file)
}
$disk = Find-Disk $id
if ($disk.IsOffline) { Set-Disk -Number $disk.Number -IsOffline $false; $disk = Find-Disk $id }
if ([IO.File]::Exists($seen) -and -not (Test-Empty $disk)) {
    Set-Disk -Number $disk.Number -IsOffline $true; [IO.File]::Delete($seen)
    throw "disk $($disk.Number) is not empty; use one without partitions"
}
if ([IO.File]::Exists($seen)) { [IO.File]::Move($seen, $ours) }
if ($disk.IsReadOnly) { Set-Disk -Number $disk.Number -IsReadOnly $false }
if ($disk.PartitionStyle -eq 'RAW') { Initialize-Disk -Number $disk.Number -PartitionStyle GPT }
$reserved = '{e3c9e316-0b5c-4db8-817d-f92df00215ae}' # Windows itself makes it
$made = @(Get-Partition | Where-Object { $_.DiskNumber -eq $disk.Number -and $_.GptType -ne $reserved })
if ($made.Count -gt 1) { throw "disk $($disk.Number) has got $($made.Count) partitions, and drive ${Letter}: needs one; remove them" }
$partition = if ($made.Count) { $made[0] } else { New-Partition -DiskNumber $disk.Number -UseMaximumSize }
if (-not (Get-Volume -Partition $partition).FileSystem) { [void](Format-Volume -Partition $partition -FileSystem NTFS -Confirm:$false) }
Set-Partition -InputObject $partition -NewDriveLetter $Letter # at last, so that what has it is formatted
