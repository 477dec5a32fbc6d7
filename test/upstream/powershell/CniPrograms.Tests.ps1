# The preJoin script of docs/images.md, as a plan has it, with real archives: named and filled as image-builder downloads them, from
# the releases of flannel-io/flannel (Makefile, tar.gz), flannel-io/cni-plugin (scripts/package.sh) and containernetworking/plugins
# (scripts/release.sh).
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

BeforeAll {
    $golden = (Resolve-Path "$PSScriptRoot/../../../bootstrap/testdata/golden/cni-programs.json").Path
    $steps = @((ConvertFrom-Json ([IO.File]::ReadAllText($golden))).phases.steps)
    $script:Text = @($steps | Where-Object { $_.name -eq 'write-cni-programs' })[0].text

    $script:Tar = (Get-Command tar -CommandType Application)[0].Source

    # The folders of the node are below $Node; Windows' tar.exe, which is libarchive's, is the tar of this machine.
    function New-Node {
        $script:Node = Join-Path $TestDrive ([Guid]::NewGuid().ToString('n'))
        $null = New-Item -ItemType Directory "$Node/k", "$Node/bin", "$Node/release"
        $text = $Text
        foreach ($pair in @('C:\Windows\System32\tar.exe', $Tar), @('C:\opt\cni\bin', "$Node/bin"), @('C:\k', "$Node/k")) {
            $text.Contains($pair[0]) | Should -BeTrue -Because "the script has $($pair[0])"
            $text = $text.Replace($pair[0], $pair[1])
        }
        [IO.File]::WriteAllText("$Node/script.ps1", $text)
    }
    function Add-Archive([string]$Name, [string[]]$Files) {
        foreach ($file in $Files) { [IO.File]::WriteAllText("$Node/release/$file", "$file of $Name") }
        & $Tar -czf "$Node/k/$Name" -C "$Node/release" $Files
        $LASTEXITCODE | Should -Be 0
    }
    function Add-Releases {
        Add-Archive 'flannel-v0.28.9-windows-amd64.tar.gz' 'flanneld.exe', 'mk-docker-opts.sh', 'README.md'
        Add-Archive 'cni-plugin-flannel-windows-amd64-v1.9.1-flannel1.tgz' 'flannel-amd64.exe'
        Add-Archive 'cni-plugins-windows-amd64-v1.10.0.tgz' './host-local.exe', './win-bridge.exe', './win-overlay.exe', './LICENSE'
    }
    function Invoke-Node {
        Set-Variable -Scope Global -Name LASTEXITCODE -Value 0
        $file = "$Node/script.ps1"
        try { $null = & $file; '' } catch { $_.Exception.Message }
    }
    function Get-Names([string]$Folder) { @(Get-ChildItem "$Node/$Folder" | ForEach-Object Name | Sort-Object) -join ' ' }
}

Describe 'the script of docs/images.md' {
    BeforeEach { New-Node }

    It 'puts each program into its folder, and nothing else into C:\k' {
        Add-Releases
        $before = Get-Names 'k'
        Invoke-Node | Should -Be ''
        Get-Names 'bin' | Should -Be 'flannel.exe host-local.exe LICENSE win-bridge.exe win-overlay.exe'
        [IO.File]::ReadAllText("$Node/bin/flannel.exe") | Should -BeLike 'flannel-amd64.exe of *'
        Remove-Item "$Node/k/flanneld.exe"
        Get-Names 'k' | Should -Be $before
    }
    It 'does the same a second time' {
        Add-Releases
        Invoke-Node | Should -Be ''
        $before = Get-Names 'bin'
        Invoke-Node | Should -Be ''
        Get-Names 'bin' | Should -Be $before
    }
    It 'needs no archive that the CNI does not have' {
        Invoke-Node | Should -Be ''
        Add-Archive 'cni-plugins-windows-amd64-v1.10.0.tgz' './host-local.exe', './win-overlay.exe'
        Invoke-Node | Should -Be ''
        Get-Names 'bin' | Should -Be 'host-local.exe win-overlay.exe'
    }
    It 'fails for an archive that is broken, and names it' {
        [IO.File]::WriteAllText("$Node/k/cni-plugins-windows-amd64-v1.10.0.tgz", 'not found')
        Invoke-Node | Should -BeLike 'tar.exe ends with exit code * for *cni-plugins-windows-amd64-v1.10.0.tgz'
    }
    It 'fails for a release of Flannel without flanneld.exe' {
        Add-Archive 'flannel-v0.28.9-windows-amd64.tar.gz' 'README.md'
        Invoke-Node | Should -BeLike 'tar.exe ends with exit code * for *flannel-v0.28.9-windows-amd64.tar.gz'
    }
}
