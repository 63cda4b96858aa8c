//! Roles (the subject's organizations) and what each method asks for (talos-api.md section 2).

/// A set of roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u8);

/// `os:admin`
pub const ADMIN: Roles = Roles(1);
/// `os:operator`
pub const OPERATOR: Roles = Roles(2);
/// `os:reader`
pub const READER: Roles = Roles(4);
/// `os:etcd:backup`
pub const BACKUP: Roles = Roles(8);
/// `os:meta:writer`
pub const META_WRITER: Roles = Roles(16);
/// `os:image:verifier`
pub const IMAGE_VERIFIER: Roles = Roles(32);

impl Roles {
    /// The union of what the organizations grant; unknown ones grant nothing, nor does the impersonator alone.
    pub fn of(organizations: &[String]) -> Self {
        organizations
            .iter()
            .fold(Self::default(), |roles, organization| {
                roles.or(match organization.as_str() {
                    "os:admin" => ADMIN,
                    "os:operator" => OPERATOR,
                    "os:reader" => READER,
                    "os:etcd:backup" => BACKUP,
                    "os:meta:writer" => META_WRITER,
                    "os:image:verifier" => IMAGE_VERIFIER,
                    _ => Self::default(),
                })
            })
    }

    /// What everyone has in maintenance mode.
    pub fn anonymous() -> Self {
        READER
    }

    /// Both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets meet.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether `os:admin` is in it.
    pub fn is_admin(self) -> bool {
        self.meets(ADMIN)
    }
}

/// Roles that may call a method.
pub fn allowed(service: &str, method: &str, maintenance: bool) -> Roles {
    let operators = ADMIN.or(OPERATOR);
    let readers = operators.or(READER);
    // What is not listed asks for the admin: all of LifecycleService, Reset, Bootstrap, Read, ...
    match (service, method) {
        ("machine.MachineService", "ApplyConfiguration")
        | ("storage.StorageService", "BlockDeviceWipe")
            if maintenance =>
        {
            ADMIN.or(READER)
        }
        ("machine.MachineService", method) => match method {
            "Version" | "Hostname" | "SystemStat" | "ServiceList" | "Mounts" | "Memory"
            | "List" | "DiskUsage" | "Logs" | "LogsContainers" | "Dmesg" | "Events" | "LoadAvg"
            | "CPUInfo" | "DiskStats" | "NetworkDeviceStats" | "Processes" | "Containers"
            | "Stats" | "Netstat" | "ImageList" => readers,
            "EtcdMemberList" | "EtcdStatus" | "EtcdAlarmList" => readers.or(BACKUP),
            "EtcdSnapshot" => operators.or(BACKUP),
            "EtcdAlarmDisarm" | "EtcdDefragment" | "Reboot" | "Shutdown" | "Restart"
            | "ServiceStart" | "ServiceStop" | "ServiceRestart" | "ImagePull" | "PacketCapture" => {
                operators
            }
            "MetaWrite" | "MetaDelete" => ADMIN.or(META_WRITER),
            _ => ADMIN,
        },
        ("machine.StorageService", "Statfs")
        | ("storage.StorageService", "Disks")
        | ("cosi.resource.State", "Get" | "List" | "Watch")
        | ("time.TimeService" | "inspect.InspectService", _) => readers,
        _ => ADMIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_ask_for_roles() {
        let roles =
            |names: &[&str]| Roles::of(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let may = |names: &[&str], method: &str, maintenance| {
            allowed("machine.MachineService", method, maintenance).meets(roles(names))
        };
        assert!(may(&["os:admin"], "Reset", false));
        assert!(!may(&["os:operator"], "Reset", false));
        assert!(may(&["os:operator"], "Reboot", false));
        assert!(!may(&["os:reader"], "Reboot", false));
        assert!(may(&["os:reader", "os:operator"], "Reboot", false));
        assert!(may(&["os:reader"], "ApplyConfiguration", true));
        assert!(!may(&["os:reader"], "ApplyConfiguration", false));
        assert!(!may(&[], "Version", false));
        assert!(!may(&["os:nonsense"], "Version", false));
        assert!(!may(&["os:impersonator"], "Version", false));
        assert!(may(&["os:etcd:backup"], "EtcdSnapshot", false));
    }
}
