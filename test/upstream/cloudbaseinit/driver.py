"""Runs the installed cloudbase-init, unmodified, on the guests that stdin describes, and prints what it did as JSON.

Every boot is one call of cloudbase-init's own main(), with the configuration that image-builder writes. Replaced is only
what is not Python but Windows: modules that do not exist on Linux, and below, one by one, the calls that leave the process.
"""
import builtins
import contextlib
import ctypes
import importlib.util
import json
import ntpath
import os
import socket
import sys
import tempfile
import types
from base64 import b64decode, b64encode
from unittest import mock

WIRE_SERVER = "168.63.129.16"
DVD_TAG = "E6DA6616-8EC4-48E0-BE93-58CE6ACE3CFB.tag"

# image-builder's cloudbase-init.conf. Plugins that only touch disks, users and network cards of Windows are left out.
CONFIG = """[DEFAULT]
username=capi
groups=Administrators
rename_admin_user=true
inject_user_password=false
debug=true
netbios_host_name_compatibility=true
metadata_report_provisioning_started=true
metadata_report_provisioning_completed=true
# The image waits 4 s between attempts; time decides nothing here.
retry_count_interval=0
log_dir={dir}
log_file=cloudbase-init.log
local_scripts_path={dir}/scripts
{cloud}
[vmwareguestinfo]
vmware_rpctool_path={dir}/rpctool.exe
"""
COMMON = "cloudbaseinit.plugins.common."
CLOUDS = {
    "vsphere": "metadata_services=cloudbaseinit.metadata.services.vmwareguestinfoservice.VMwareGuestInfoService\nplugins="
    + ",".join(COMMON + p for p in (
        "sethostname.SetHostNamePlugin", "networkconfig.NetworkConfigPlugin", "sshpublickeys.SetUserSSHPublicKeysPlugin",
        "userdata.UserDataPlugin", "localscripts.LocalScriptsPlugin")),
    "azure": "metadata_services=cloudbaseinit.metadata.services.azureservice.AzureService\n"
    "logging_serial_port_settings=COM2,115200,N,8\nplugins="
    + ",".join(COMMON + p for p in ("userdata.UserDataPlugin", "sethostname.SetHostNamePlugin")),
}

OVF_ENV = """<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1" xmlns:wa="http://schemas.microsoft.com/windowsazure">
<wa:ProvisioningSection><WindowsProvisioningConfigurationSet><ComputerName>%s</ComputerName><AdminUsername>capi</AdminUsername>
<AdminPassword>none</AdminPassword>%s</WindowsProvisioningConfigurationSet></wa:ProvisioningSection>
<wa:PlatformSettingsSection><PlatformSettings/></wa:PlatformSettingsSection></Environment>"""
VERSIONS = "<Versions><Supported><Version>2015-04-05</Version><Version>2012-11-30</Version></Supported></Versions>"
GOAL_STATE = """<GoalState><Incarnation>1</Incarnation><Machine><ExpectedState>Started</ExpectedState></Machine>
<Container><ContainerId>container-1</ContainerId><RoleInstanceList><RoleInstance><InstanceId>%s</InstanceId><Configuration/>
</RoleInstance></RoleInstanceList></Container></GoalState>"""


class Guest:
    """One Windows: what outlives a boot, and what this boot did."""

    def __init__(self, case, folder):
        self.case, self.dir = case, folder
        self.registry = {}
        self.name = self.next_name = case["computerName"]
        self.start()

    def start(self):
        self.name = self.next_name  # a new name holds from the next boot
        self.processes, self.health, self.com2, self.network, self.rebooted = [], [], [], [], False
        self.files = {}  # what write_files has written in this boot

    def execute_process(self, args, shell=True, decode_output=False):
        """The process boundary: rpctool.exe answers, everything else is noted and ends as the case says."""
        if ntpath.basename(args[0]) == "rpctool.exe":
            return self.rpctool(args[1])
        script = None
        if os.path.isfile(args[-1]):
            with open(args[-1], "rb") as file:
                script = b64encode(file.read()).decode()
        self.processes.append({"args": list(args), "shell": shell, "script": script, "files": dict(self.files), "heard": list(self.health)})
        if self.case.get("cutOff", 0) > 0:
            self.case["cutOff"] -= 1
            raise PowerCut
        return self.case.get("stdout", "").encode(), b"", self.case.get("exitCode", 0)

    def write_file(self, path, content, permissions, open_mode):
        """The boundary of write_files: what would stand on the disk."""
        if open_mode == "ab":
            content = b64decode(self.files.get(path, {}).get("content", "")) + content
        self.files[path] = {"content": b64encode(content).decode(), "permissions": permissions}
        return True

    def rpctool(self, command):
        """As in open-vm-tools: a line end after every answer, "No value found" and exit code 1 for a key that is not set."""
        verb, key = command.split(" ", 1)
        value = (self.case.get("guestinfo") or {}).get(key)
        if verb != "info-get" or value is None:
            return b"", b"No value found\r\n", 1
        return value.encode() + b"\r\n", b"", 0

    def wire_server(self, method, url, data=None, **_):
        """Azure's host agent."""
        answer = mock.Mock(content=b"")
        if url.endswith("comp=Versions"):
            answer.content = VERSIONS.encode()
        elif url.endswith("comp=goalstate"):
            answer.content = (GOAL_STATE % self.case["instanceId"]).encode()
        elif url.endswith("comp=health"):
            self.health.append(data.decode())
        else:
            raise AssertionError("unknown request %s" % url)
        return answer

    def set_computer_name(self, _, name):
        self.next_name = name
        return 1

    def reboot(self):
        self.rebooted = True

    def furnish(self):
        """Files that are there before the first boot."""
        with open(os.path.join(self.dir, "cloudbase-init.conf"), "w") as file:
            file.write(CONFIG.format(dir=self.dir, cloud=CLOUDS[self.case["cloud"]] + "\n" + self.case.get("config", "")))
        with open(os.path.join(self.dir, "rpctool.exe"), "w"):
            pass
        os.mkdir(os.path.join(self.dir, "scripts"))
        if self.case["cloud"] != "azure":
            return
        custom_data = self.case.get("customData")
        files = {DVD_TAG: b"", "ovf-env.xml": (OVF_ENV % (
            self.case["hostName"], "" if custom_data is None else "<CustomData>x</CustomData>")).encode()}
        if custom_data is not None:
            files["CustomData.bin"] = b64decode(custom_data)
        for name, content in files.items():
            with open(os.path.join(self.dir, name), "wb") as file:
                file.write(content)


class PowerCut(BaseException):
    """Windows restarts while a program runs: nothing of cloudbase-init goes on, so it is no Exception, which it would catch."""


guest = None  # the one that is played; cloudbase-init makes its objects anew all the time


class WindowsError_(OSError):
    winerror = 2  # the key does not exist


def winreg_module():
    """The registry, as far as cloudbase-init keeps its marks in it."""
    module = types.ModuleType("winreg")
    module.__getattr__ = lambda name: name  # constants

    def open_key(_, path, *__):
        if path.rstrip("\\") not in guest.registry:
            raise WindowsError_("no key %s" % path)
        return contextlib.nullcontext(guest.registry[path.rstrip("\\")])

    def create_key(_, path):
        return contextlib.nullcontext(guest.registry.setdefault(path.rstrip("\\"), {}))

    def query(key, name):
        if name not in key:
            raise WindowsError_("no value %s" % name)
        return key[name], 0

    module.OpenKey, module.CreateKey, module.QueryValueEx = open_key, create_key, query
    module.SetValueEx = lambda key, name, _, __, value: key.__setitem__(name, value)
    return module


def replace_missing_modules():
    """So that modules of cloudbase-init can be imported whose other halves call Windows."""
    import oslo_log.log  # noqa: F401, first, because libraries shall go on to find Linux
    import six
    for name in ("pywintypes", "win32api", "win32com", "win32com.client", "win32net", "win32netcon", "win32process",
                 "win32security", "win32service", "winerror", "winioctlcon", "wmi", "mi", "comtypes", "comtypes.client",
                 "tzlocal", "netifaces"):  # netifaces asks for MAC addresses, and would need a C compiler here
        sys.modules[name] = mock.MagicMock(name=name)
    if os.environ.get("WITHOUT_PYTZ"):
        sys.modules["pytz"] = None  # an image that was made without it
    if importlib.util.find_spec("imp") is None:  # gone since Python 3.12; 1.1.4 imports it and uses it for files of the user
        sys.modules["imp"] = mock.MagicMock(name="imp")
    import jinja2.runtime
    if not hasattr(jinja2.runtime, "implements_to_string"):
        jinja2.runtime.implements_to_string = lambda cls: cls  # 1.1.2 is older than Jinja 3.1
    sys.modules["win32process"].IsWow64Process.return_value = False  # a 64-bit Python
    sys.modules["winreg"] = six.moves.winreg = winreg_module()  # 1.1.4 asks six for it, 1.1.9 asks Python
    builtins.WindowsError = WindowsError_
    ctypes.windll, ctypes.cdll.msvcrt = mock.MagicMock(name="windll"), mock.MagicMock(name="msvcrt")
    ctypes.WINFUNCTYPE = ctypes.CFUNCTYPE
    ctypes.windll.kernel32.SetComputerNameExW.side_effect = lambda kind, name: guest.set_computer_name(kind, name)
    os.environ["windir"] = "C:\\Windows"


def replace_calls():
    """Calls that leave the process: programs, reboot, drives, network, serial port, the name of this machine."""
    import requests
    import serial
    from cloudbaseinit.osutils import factory, windows
    from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import runcmd, write_files
    from cloudbaseinit.utils import dhcp, hostname

    factory.os = types.SimpleNamespace(name="nt")
    windows.os = types.ModuleType("os")
    windows.os.__dict__.update(os.__dict__, path=ntpath)  # paths of programs are joined as on Windows
    utils = windows.WindowsUtils
    utils.execute_process = lambda _, *args, **kwargs: guest.execute_process(*args, **kwargs)
    utils.reboot = lambda _: guest.reboot()
    utils.terminate = lambda _: None  # stops the Windows service
    utils.check_os_version = lambda *_: True
    utils.get_network_adapter_name_by_mac_address = lambda *_: "Ethernet0"
    for name in ("rename_network_adapter", "enable_network_adapter", "set_network_adapter_mtu", "set_static_network_config"):
        setattr(utils, name, lambda _, *args, name=name: guest.network.append([name, *args]))
    utils.get_logical_drives = lambda _: [guest.dir + "/"]
    write_files.os = windows.os
    write_files._write_file = lambda *args: guest.write_file(*args)
    runcmd.os = types.SimpleNamespace(linesep="\r\n")
    hostname.platform = types.SimpleNamespace(node=lambda: guest.name)
    dhcp.get_dhcp_options = lambda *_: {245: socket.inet_aton(WIRE_SERVER)}
    requests.request = lambda **kwargs: guest.wire_server(**kwargs)
    serial.Serial = lambda **_: mock.Mock(write=lambda text: guest.com2.append(text.decode()))


def boot():
    from cloudbaseinit import shell
    from cloudbaseinit.utils import log

    guest.start()
    log_file = os.path.join(guest.dir, "cloudbase-init.log")
    if os.path.exists(log_file):
        os.remove(log_file)
    sys.argv = ["cloudbase-init", "--config-file", os.path.join(guest.dir, "cloudbase-init.conf")]
    error, cut = "", False
    try:
        shell.main()
    except PowerCut:
        cut = True
    except Exception as raised:
        error = repr(raised)
    log.release_logging_handlers("cloudbaseinit")  # as the end of the process does
    with open(log_file, encoding="utf-8", errors="replace") as file:
        logged = file.read()
    return {"log": logged, "com2": "".join(guest.com2), "error": error, "health": guest.health, "processes": guest.processes,
            "files": guest.files, "network": guest.network, "rebooted": guest.rebooted or cut, "computerName": guest.next_name, "left": os.listdir(tempfile.gettempdir())}


def play(case):
    """Boots until nothing asks for a reboot, and once more."""
    global guest
    with tempfile.TemporaryDirectory(dir=os.environ["GUESTS"]) as folder:
        guest = Guest(case, folder)
        guest.furnish()
        boots = [boot()]
        while boots[-1]["rebooted"] and len(boots) < 4:
            boots.append(boot())
        case["guestinfo"] = case.get("later") or case.get("guestinfo")  # what the cloud has changed by then
        boots.append(boot())
    return {"name": case["name"], "boots": boots, "registry": guest.registry}


def main():
    cases = json.load(sys.stdin)
    replace_missing_modules()
    replace_calls()
    json.dump([play(case) for case in cases], sys.stdout)


if __name__ == "__main__":
    main()
