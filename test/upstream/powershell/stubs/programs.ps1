# Programs: those of Windows, which are always there, and those that the world lists.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

function Invoke-Program([string[]]$Argv, [int]$Limit = 60, [string]$Log, $Environment, [string]$Directory) {
    Enter-Stub 'Invoke-Program'
    Enter-Stub $Argv[0]
    Add-ProgramEffect $Argv $Environment
    Add-Sight $Argv $Environment $Directory
    if ($Log) {
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Log))
        [IO.File]::WriteAllText("$Log.out.log", $Argv -join ' ')
        if ($Directory) { Add-Effect "  in $Directory" }
    }
    $rule = $World.commands | Where-Object { Test-Rule $_ $Argv } | Select-Object -First 1
    if ($null -ne $rule) { return Invoke-Rule $rule $Limit }
    $code, $text = switch ($Argv[0]) {
        'sc.exe' { $end = Invoke-Sc $Argv; $end, $(if ($end) { "[SC] $($Argv[1]) FAILED $end" }) }
        'shutdown.exe' { $(if ($World.shutdown) { 1190 } else { 0 }), ''; $World.shutdown = 1 }
        'taskkill.exe' { 128, "ERROR: The process `"$($Argv[2])`" not found." }
        'wevtutil.exe' { 0, "Event[0]`n  Log Name: $($Argv[2])`n  Computer: WIN-1`n" }
        default { throw "The system cannot find the file specified: $($Argv[0])" }
    }
    @{ ExitCode = $code; TimedOut = $false; Text = "$text`n" }
}

# Questions have no effect. A report is told by its state.
function Add-ProgramEffect([string[]]$Argv, $Environment) {
    if ($Argv[1] -like 'info-set *') {
        Add-Effect ('run {0} info-set {1} <report {2}>' -f $Argv[0], ($Argv[1] -split ' ')[1], $Agent.State['state'])
    }
    elseif ($Argv[0] -ne 'wevtutil.exe') {
        Add-Effect ('run ' + (ConvertTo-Json @($Argv | ForEach-Object { ConvertTo-WorldPath $_ }) -Compress))
    }
    if (-not $Environment) { return }
    foreach ($name in @($Environment.PSBase.Keys | Sort-Object)) { Add-Effect "  env $name=$(Resolve-Value $Environment[$name])" }
}

# What a program sees of how it was started: of its environment, the machine's variables and those that it was given.
function Add-Sight([string[]]$Argv, $Environment, [string]$Directory) {
    $variables = @{}
    foreach ($name in Get-StubVariable) { $variables[$name] = [string][Environment]::GetEnvironmentVariable($name) }
    foreach ($name in @(if ($Environment) { $Environment.PSBase.Keys })) { $variables[$name] = Resolve-Value $Environment[$name] }
    $sight = @{ argv = @($Argv | ForEach-Object { ConvertTo-WorldPath $_ }); env = $variables; dir = $Directory }
    $World['sights'] = @(if ($World['sights']) { $World['sights'] }) + $sight
}

# A rule counts where its words begin the command line, and so often as it says.
function Test-Rule($Rule, [string[]]$Argv) {
    $words = @($Rule['argv'])
    if ($null -ne $Rule['times'] -and $Rule['times'] -le 0) { return $false }
    if ($words.Count -gt $Argv.Count) { return $false }
    for ($at = 0; $at -lt $words.Count; $at++) { if ((ConvertTo-WorldPath $Argv[$at]) -ne $words[$at]) { return $false } }
    $true
}

function Invoke-Rule($Rule, [int]$Limit) {
    if ($null -ne $Rule['times']) { $Rule['times']-- }
    foreach ($path in @(if ($Rule['writes']) { $Rule['writes'].Keys })) {
        # A program writes into a file that is there, and leaves its owner and access.
        $real = ConvertTo-RealPath $path
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($real))
        [IO.File]::WriteAllText($real, $Rule['writes'][$path])
    }
    if ($Rule['argv'][0] -eq 'shutdown.exe') { $World.shutdown = 1 }
    $most = Get-TimeLimit $Limit
    $hung = $Rule['hangs'] -or [int]$Rule['seconds'] -gt $most
    $World.clock += if ($hung) { $most } else { [int]$Rule['seconds'] }
    @{ ExitCode = $(if ($hung) { -1 } else { [int]$Rule['exit'] }); TimedOut = [bool]$hung; Text = "$($Rule['out'])`n$($Rule['err'])" }
}
