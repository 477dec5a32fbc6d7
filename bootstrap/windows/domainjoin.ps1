# Joins the Active Directory domain that the file beside this script names. It may run again: a member stays one. Exit code
# 3010: a member after a restart, until which Windows keeps the volatile key that is made before.
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$wanted = [IO.File]::ReadAllText((Join-Path $PSScriptRoot 'domain-join.json')) | ConvertFrom-Json
$machine, $mark = [Microsoft.Win32.Registry]::LocalMachine, 'SOFTWARE\capwin-domain-join'
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
if ($computer.PartOfDomain -and $computer.Domain -eq $wanted.domain) { exit $(if ($machine.OpenSubKey($mark)) { 3010 } else { 0 }) }
$login = [Net.NetworkCredential]::new($wanted.username, $wanted.password) # New-Object would log the password under some policies
$join = @{ DomainName = $wanted.domain; Credential = [Management.Automation.PSCredential]::new($wanted.username, $login.SecurePassword) }
if ($wanted.organizationalUnit) { $join.OUPath = $wanted.organizationalUnit }
$machine.CreateSubKey($mark, $true, [Microsoft.Win32.RegistryOptions]::Volatile).Dispose()
Add-Computer @join -Force
exit 3010
