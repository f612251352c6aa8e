use super::{CANARY, Home, NOW, bearer, name, read, secret};
use crate::VaultError;

#[test]
fn two_open_vaults_lose_nothing_of_each_other() {
    let mut home = Home::new();
    let mut other = home.reopened();
    home.vault.set(&name("first"), secret(CANARY), bearer(), NOW).unwrap();
    other.set(&name("second"), secret("another-value"), bearer(), NOW).unwrap();
    let names = |vault: &crate::Vault| -> Vec<String> {
        vault.list().unwrap().iter().map(|info| info.name.to_string()).collect()
    };
    assert_eq!(names(&other), ["first", "second"]);
    assert_eq!(names(&home.vault), ["first"]);
    home.vault.refresh().unwrap();
    assert_eq!(names(&home.vault), ["first", "second"]);
    assert_eq!(read(&home.vault, "second", None), Ok((1, "another-value".to_owned())));
    let error = home.vault.set(&name("second"), secret(CANARY), bearer(), NOW).unwrap_err();
    assert!(matches!(error, VaultError::Exists { .. }), "{error}");
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for writer in ["a", "b", "c", "d"] {
            let mut vault = home.reopened();
            scope.spawn(move || {
                for turn in 0..5 {
                    let name = name(&format!("{writer}{turn}"));
                    vault.set(&name, secret(CANARY), bearer(), NOW).unwrap();
                }
            });
        }
    });
    assert_eq!(home.reopened().list().unwrap().len(), 20);
}

#[test]
fn a_step_back_is_noticed_while_open() {
    let mut home = Home::new();
    home.vault.set(&name("first"), secret(CANARY), bearer(), NOW).unwrap();
    let older = std::fs::read(&home.path).unwrap();
    home.vault.rotate(&name("first"), secret("second-value"), NOW).unwrap();
    std::fs::write(&home.path, older).unwrap();
    assert!(matches!(home.vault.refresh(), Err(VaultError::WentBack { .. })));
    let error = home.vault.rotate(&name("first"), secret("third-value"), NOW).unwrap_err();
    assert!(matches!(error, VaultError::WentBack { .. }), "{error}");
}
