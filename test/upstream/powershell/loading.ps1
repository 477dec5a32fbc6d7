# Runs the loader that cloudbase-init finds in the files of user data. $LoaderBase is a folder for all that it makes.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$LoaderTasks = @{}
$SystemAccess = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'

function New-LoaderPlan([string]$Uid, [int]$Wait, [bool]$Hold) {
    $content = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('S3CRET'))
    $step = @{ do = 'file'; name = 'f'; path = "$LoaderBase/out-$Uid.txt"; content = $content }
    $plan = @{
        version = 1; waitSeconds = $Wait; machine = @{ uid = $Uid; name = 'm'; node = 'n' }; report = @(); redact = @('S3CRET')
        phases = @(@{ name = 'one'; steps = @($step) })
    }
    if ($Hold) { $plan.hold = $true }
    ConvertTo-Json $plan -Depth 9
}

# The folder that cloudbase-init makes of user data, with agent.ps1, loader.ps1 and plan.json in it.
function New-Staging([string]$Uid, [string]$Name, [int]$Wait = 20, [switch]$Hold) {
    [IO.File]::WriteAllText("$LoaderBase/$Name.json", (New-LoaderPlan $Uid $Wait $Hold))
    $program = "$LoaderBase/userdata"
    & $program "$LoaderBase/$Name.json" "$LoaderBase/capwin-$Name"
    if ($LASTEXITCODE) { throw "user data: exit code $LASTEXITCODE" }
    if ($env:CAPWIN_SCRIPTS) { Copy-Script "$LoaderBase/capwin-$Name" }
    "$LoaderBase/capwin-$Name"
}

# Other scripts than those that the program was built with.
function Copy-Script([string]$Staging) {
    [IO.File]::Copy("$env:CAPWIN_SCRIPTS/loader.ps1", "$Staging/loader.ps1", $true)
    $agent = [IO.File]::ReadAllText("$env:CAPWIN_SCRIPTS/agent.ps1") + [IO.File]::ReadAllText("$env:CAPWIN_SCRIPTS/steps.ps1")
    [IO.File]::WriteAllText("$Staging/agent.ps1", $agent)
}

# The commands of Windows write to a log, as does whether the folders are there at each of them; the task starts the agent that the
# loader has put into the root, in this process or in one of its own. Access is what -Access says.
function Invoke-Loader([string]$Staging, [string]$Root, [string]$Task = 'run', [string]$Access = $SystemAccess) {
    if (-not $LoaderTasks.ContainsKey($Root)) { $LoaderTasks[$Root] = @{} }
    $log = [Collections.ArrayList]@()
    $World = @{ tasks = $LoaderTasks[$Root]; registered = ''; onStart = $null }
    if ($Task -eq 'run') { $World.onStart = { Invoke-LoadedAgent $Root } }
    if ($Task -eq 'process') { $World.onStart = { Start-LoadedAgent $Root } }
    function Enter-Stub { }
    function Add-Effect([string]$Text) { $null = $log.Add("$Text staging=$([IO.Directory]::Exists($Staging))") }
    . "$PSScriptRoot/stubs/errors.ps1"
    . "$PSScriptRoot/stubs/tasks.ps1"
    # DirectorySecurity is of Windows; a mode of Unix takes its place in CreateDirectory.
    function New-Object($TypeName, $ArgumentList) {
        if ($TypeName -ne 'Security.AccessControl.DirectorySecurity') {
            return Microsoft.PowerShell.Utility\New-Object $TypeName $ArgumentList
        }
        $mode = [IO.UnixFileMode]448
        $tell = { param($Text) Add-Effect "access root=$([IO.Directory]::Exists($Root)) $Text" }
        $mode | Add-Member -MemberType ScriptMethod -Name SetSecurityDescriptorSddlForm -Value $tell -PassThru
    }
    function Get-Acl {
        [CmdletBinding()] param([string]$LiteralPath)
        if (-not [IO.Directory]::Exists($LiteralPath)) {
            Write-StubError "Cannot find path '$LiteralPath' because it does not exist." 'GetAcl_PathNotFound_Exception'
            return
        }
        $acl = [pscustomobject]@{ Sddl = $Access }
        $acl | Add-Member -MemberType ScriptMethod -Name GetSecurityDescriptorSddlForm -Value { $this.Sddl } -PassThru
    }
    $loader = "$Staging/loader.ps1"
    $text = & $loader -Root $Root
    @{ Text = @($text) -join "`n"; Code = $LASTEXITCODE; Log = @($log); Registered = $World.registered }
}

function Invoke-LoadedAgent([string]$Root) {
    $World = @{ base = "$LoaderBase/base" }
    . "$Root/agent.ps1" -Root $Root -Sentinel "$Root.done" -NoRun
    . "$PSScriptRoot/stubs.ps1"
    Invoke-Agent
}

function Start-LoadedAgent([string]$Root) {
    $text = "`$LoaderBase = '$LoaderBase'; . '$PSScriptRoot/loading.ps1'; Invoke-LoadedAgent '$Root'"
    [IO.File]::WriteAllText("$Root.task.ps1", $text)
    $start = Microsoft.PowerShell.Utility\New-Object Diagnostics.ProcessStartInfo $env:PWSH
    $start.Arguments = "-NoProfile -NonInteractive -File `"$Root.task.ps1`""
    $null = [Diagnostics.Process]::Start($start)
}
